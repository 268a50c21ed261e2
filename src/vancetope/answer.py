"""What a structured question comes to: one object that fits its schema, or one named failure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeAlias, TypeVar, cast

from vancetope.errors import AnswerFailed
from vancetope.messages import Usage
from vancetope.outcome import Enforcement
from vancetope.schema.extraction import Rule

T = TypeVar("T")

AnswerError: TypeAlias = Literal[
    "invalid_params",
    "invalid_schema",
    "schema_violation",
    "max_attempts_exceeded",
    "llm_error",
    "output_truncated",
    "refused",
    "budget_exceeded",
    "stopped",
    "internal_error",
]


@dataclass(frozen=True, kw_only=True, repr=False)
class Answer(Generic[T]):
    """What `query` returns.

    With `success`, `data` is the answer: it fits the caller's own schema. Without, `error` is one of `AnswerError`,
    `message` a sentence, and `last_invalid` the last JSON value that did not fit, or else the last text (at most 2,000
    characters), or null. `attempts` counts the model's replies, tool rounds not among them; `model_calls` counts
    requests. `rule` says how the JSON was found in the text: other than `strict`, the model has begun to drift. `cost`
    is in US dollars, null if a price is unknown.
    """

    success: bool
    attempts: int
    data: T | None = None
    error: AnswerError | None = None
    message: str = ""
    last_invalid: Any = None
    rule: Rule | None = None
    model_calls: int = 0
    usage: Usage = field(default_factory=Usage)
    cost: float | None = None
    enforcement: Enforcement = field(default_factory=lambda: Enforcement("prompted", "prompted"))
    value: Any = None
    cause: Exception | None = field(default=None, compare=False)

    def wrapper(self) -> dict[str, Any]:
        """The answer as JSON, the same through every door. `data` is the object as the model gave it."""
        if self.success:
            return {"success": True, "attempts": self.attempts, "data": self.value}
        return {
            "success": False,
            "attempts": self.attempts,
            "error": self.error,
            "message": self.message,
            "lastInvalid": self.last_invalid,
        }

    def unwrap(self) -> T:
        """The data. Raises `AnswerFailed` with error and message where there is none."""
        if not self.success:
            raise AnswerFailed(self.error or "internal_error", self.message) from self.cause
        return cast(T, self.data)

    def __repr__(self) -> str:
        said = str(self.data) if self.success else f"{self.error}: {self.message}"
        return f"<Answer {said if len(said) <= 80 else said[:79] + '…'}>"
