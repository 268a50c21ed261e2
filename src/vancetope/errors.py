"""One root, sorted by who must act. A class's docstring is its message where none is given."""

from typing import ClassVar


class VancetopeError(Exception):
    """Something in vancetope failed; this is our bug, please report it."""

    exit_code: ClassVar[int] = 1

    def __init__(self, message: str | None = None) -> None:
        super().__init__(message or (type(self).__doc__ or "").strip())


# The user must act.


class ConfigError(VancetopeError):
    """The request cannot be built from these arguments and settings."""

    exit_code = 2


class MissingExtra(ConfigError):
    """An optional part of vancetope is not installed."""

    def __init__(self, extra: str, needed_for: str) -> None:
        super().__init__(f"{needed_for} needs the extra '{extra}': pip install 'vancetope[{extra}]'")


class HistoryError(ConfigError):
    """The given history is not one that a turn could have left."""


class ClassFailed(ConfigError):
    """The class that an answer is made of failed while it validated one."""


class TurnFailed(VancetopeError):
    """The turn ended without a message; `outcome` and `reason` say why."""

    exit_code = 4

    def __init__(self, outcome: str, reason: str) -> None:
        super().__init__(f"the turn ended as {outcome}: {reason}")
        self.outcome = outcome
        self.reason = reason


class AnswerFailed(VancetopeError):
    """The structured question has no answer; `error` and `reason` say why."""

    exit_code = 5

    def __init__(self, error: str, reason: str) -> None:
        super().__init__(f"no answer, {error}: {reason}")
        self.error = error
        self.reason = reason


class IllegalMove(VancetopeError):
    """A process was asked for a status it cannot take from where it is."""


# The model or its provider must act.


class ModelError(VancetopeError):
    """The model's server gave no usable reply.

    `requests` is how many requests were sent in vain, `retry_after` the seconds the server asked us to wait, if it did.
    `retryable`: the same request may work later; `replaceable`: another model may do what this one could not; `begun`:
    a reply had begun and broke off, and the provider may bill it.
    """

    exit_code = 3
    retryable: ClassVar[bool] = False
    replaceable: ClassVar[bool] = False

    def __init__(
        self,
        message: str | None = None,
        *,
        status: int | None = None,
        retry_after: float | None = None,
        requests: int = 1,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.retry_after = retry_after
        self.requests = requests
        self.begun = False


class AuthRefused(ModelError):
    """The model's server does not accept the key (401 or 403)."""


class RequestRejected(ModelError):
    """The model's server rejects the request itself (another 4xx)."""


class ContextTooLong(RequestRejected):
    """The model's server says that the conversation does not fit its context window."""


class RateLimited(ModelError):
    """The model's server asks for fewer requests (429)."""

    retryable = True
    replaceable = True


class ServerFailed(ModelError):
    """The model's server failed (5xx)."""

    retryable = True
    replaceable = True


class Unreachable(ModelError):
    """The model's server cannot be reached."""

    retryable = True
    replaceable = True


class ReplyBroken(ModelError):
    """The model's server answered with something that is not a reply: half a stream, HTML, other JSON."""

    retryable = True
    replaceable = True


class CircuitOpen(ModelError):
    """The model failed several times in a row and is left alone for a while."""

    replaceable = True
