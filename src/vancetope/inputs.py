"""What a caller says, as messages: checked, or one clear sentence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from vancetope.errors import ConfigError, HistoryError
from vancetope.messages import File, History, Image, Part, Text, User, checked
from vancetope.models.base import ModelInfo
from vancetope.options import is_text, message_problem, shown

MAX_PROMPT = 32 * 1024 * 1024


def user_message(prompt: Any, info: ModelInfo) -> User:
    """The caller's prompt as a message. Raises `ConfigError` for one that is empty, too large or not for this model."""
    message = prompt if isinstance(prompt, User) else User(_content(prompt))
    if problem := message_problem((message,)):
        raise ConfigError(f"the prompt is {problem[1]}; give a text, or a list of texts, images and files")
    parts = (Text(message.content),) if isinstance(message.content, str) else message.content
    texts = [each.text for each in parts if isinstance(each, Text)]
    if not all(map(is_text, texts)):
        raise ConfigError("the prompt is not valid Unicode: it holds half of a surrogate pair")
    if len(texts) == len(parts) and not any(text.strip() for text in texts):
        raise ConfigError("the prompt is empty; say what you want to know")
    if (size := sum(len(text.encode()) for text in texts)) > MAX_PROMPT:
        raise ConfigError(f"the prompt has {size:,} bytes; at most {MAX_PROMPT:,} are taken")
    _seen_by(info, parts)
    return message


def _content(prompt: Any) -> str | tuple[Part, ...]:
    if isinstance(prompt, str):
        return prompt
    if isinstance(prompt, bytes | Mapping) or not isinstance(prompt, Iterable):
        raise ConfigError(f"the prompt is {shown(prompt)}; give a text, or a list of texts, images and files")
    return tuple(Text(each) if isinstance(each, str) else each for each in prompt)


def _seen_by(info: ModelInfo, parts: Iterable[Part]) -> None:
    if not info.vision and any(isinstance(each, Image | File) for each in parts):
        raise ConfigError(f"{info.id} cannot see images and files; send text, or choose a model with vision")


def history_of(history: Any, info: ModelInfo) -> History:
    """The caller's history, checked. Raises `HistoryError` (a `ConfigError`) for one that no turn could have left, and
    `ConfigError` for one that is not for this model."""
    messages = history.messages if isinstance(history, History) else history
    if isinstance(messages, str | bytes):
        raise HistoryError("history is a text; read what to_json wrote with History.from_json")
    if isinstance(messages, Mapping) or not isinstance(messages, Iterable):
        raise HistoryError(f"history is {shown(messages)}; give the messages of an earlier turn")
    messages = tuple(messages)
    if problem := message_problem(messages):
        raise HistoryError(f"history message {problem[0]} is {problem[1]}; give the messages of an earlier turn")
    for each in messages:
        if isinstance(each, User) and not isinstance(each.content, str):
            _seen_by(info, each.content)
    return checked(history if isinstance(history, History) else History(messages))
