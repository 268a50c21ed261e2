"""vancetope: agent turns that end by contract, on any model.

    turn = await vancetope.ask("What time is it in Paris?", tools=[get_time], model="openai:gpt-5-mini")
    turn.message, turn.awaiting_user_input, turn.outcome

    answer = await vancetope.query("Describe France.", Country, model="openai:gpt-5-mini")
    answer.success, answer.data, answer.attempts, answer.error

Everything public is named here and loaded when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vancetope.answer import Answer
    from vancetope.api import ask, ask_blocking, query, query_blocking, stream
    from vancetope.backends.base import Backend, ModelSettings
    from vancetope.context import Budget
    from vancetope.errors import AnswerFailed, ConfigError, ModelError, TurnFailed, VancetopeError
    from vancetope.events import Event
    from vancetope.lane import Lane
    from vancetope.messages import File, History, Image, User
    from vancetope.outcome import Outcome, Turn
    from vancetope.recipes.recipe import Recipe
    from vancetope.tools.base import Tool, ToolContext
    from vancetope.tools.functions import tool

__version__ = "0.1.0"

_HOME = {
    "ask": "api",
    "ask_blocking": "api",
    "query": "api",
    "query_blocking": "api",
    "stream": "api",
    "tool": "tools.functions",
    "Answer": "answer",
    "AnswerFailed": "errors",
    "Backend": "backends.base",
    "Budget": "context",
    "ConfigError": "errors",
    "Event": "events",
    "File": "messages",
    "History": "messages",
    "Image": "messages",
    "Lane": "lane",
    "ModelError": "errors",
    "ModelSettings": "backends.base",
    "Outcome": "outcome",
    "Recipe": "recipes.recipe",
    "Tool": "tools.base",
    "ToolContext": "tools.base",
    "Turn": "outcome",
    "TurnFailed": "errors",
    "User": "messages",
    "VancetopeError": "errors",
}

__all__ = [
    "Answer",
    "AnswerFailed",
    "Backend",
    "Budget",
    "ConfigError",
    "Event",
    "File",
    "History",
    "Image",
    "Lane",
    "ModelError",
    "ModelSettings",
    "Outcome",
    "Recipe",
    "Tool",
    "ToolContext",
    "Turn",
    "TurnFailed",
    "User",
    "VancetopeError",
    "ask",
    "ask_blocking",
    "query",
    "query_blocking",
    "stream",
    "tool",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'vancetope' has no attribute {name!r}")
    value = getattr(import_module(f"vancetope.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
