"""The scripted model for those who know only text: an async function whose answers are a script."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from inspect import isawaitable
from typing import TypeAlias

from vancetope.backends.scripted.backend import ScriptExhausted
from vancetope.errors import ConfigError

TextAnswer: TypeAlias = str | Exception
TextScript: TypeAlias = Iterable[TextAnswer] | Callable[[str], TextAnswer | Awaitable[TextAnswer]]

SHOWN = 200  # characters of a prompt's end in a sentence


@dataclass(slots=True)
class ScriptedText:
    """An async function from text to text that answers from a script.

        backend = TextBackend(ScriptedText(["It is 15:42."]))

    A script is a list of texts and exceptions (raised), used up one by one, or a function of the prompt, sync or async.
    Every prompt is kept in `prompts`. Raises `ScriptExhausted` where the list has no answer left.
    """

    script: TextScript
    prompts: list[str] = field(default_factory=list, init=False)
    _left: list[TextAnswer] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        if isinstance(self.script, str):
            raise ConfigError("a script is a list of answers; put a single one into a list")
        if not callable(self.script):
            self._left = list(self.script)

    @property
    def left(self) -> int:
        """How many answers of the list have not been asked for."""
        return len(self._left)

    async def __call__(self, prompt: str) -> str:
        self.prompts.append(prompt)
        answer = await self._answer(prompt)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def _answer(self, prompt: str) -> TextAnswer:
        if callable(self.script):
            given = self.script(prompt)
            return await given if isawaitable(given) else given
        if not self._left:
            used = len(self.prompts) - 1
            end = prompt if len(prompt) <= SHOWN else "…" + prompt[1 - SHOWN :]
            raise ScriptExhausted(
                f"the scripted model has used all its {used} replies and was asked once more: the prompt ends {end!r}"
            )
        return self._left.pop(0)
