"""What a server's failure means, in one sentence: who said what, and what to do about it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, ClassVar

import httpx

from vancetope.backends.openai.mask import mask
from vancetope.backends.openai.profiles import Profile
from vancetope.backends.openai.waiting import retry_after
from vancetope.errors import (
    AuthRefused,
    ConfigError,
    ContextTooLong,
    ModelError,
    RateLimited,
    ReplyBroken,
    RequestRejected,
    ServerFailed,
    Unreachable,
    VancetopeError,
)

SAID = 300  # characters of a server's own words in a sentence of ours
DEEPEST = 8  # levels at which a failure's words are looked for

_TOO_LONG = (
    "context_length_exceeded",
    "exceed_context_size",
    "maximum context length",
    "exceeds the available context size",
    "exceeds the context window",
    "exceed context window",
    "context size has been exceeded",
    "prompt is too long",
    "input is too long",
    "longer than the maximum model length",
    "exceeds the maximum number of tokens",
)
_FILTERED = ("content_filter", "responsibleaipolicyviolation", "invalid_prompt", "content exists risk")
_QUOTA = ("insufficient_quota", "billing_hard_limit_reached", "insufficient balance", "credit balance is too low")
# The status that a failure inside a stream would have had, by its type or code.
_STATUS = {
    "authentication_error": 401,
    "invalid_api_key": 401,
    "permission_error": 403,
    "invalid_request_error": 400,
    "content_filter": 400,
    "model_not_found": 404,
    "not_found_error": 404,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "insufficient_quota": 429,
}


_IS_STATUS = re.compile("[45][0-9]{2}")


class QuotaSpent(RateLimited):
    """The account at the model's server has no credit left; waiting does not help."""

    retryable: ClassVar[bool] = False


class PromptFiltered(RequestRejected):
    """The model's server let nothing of the request pass its content filter."""


@dataclass(frozen=True, slots=True)
class Where:
    """The server and model that a failure is about. `secrets` never appear in its sentences."""

    profile: Profile
    address: str
    model: str = ""
    secrets: tuple[str, ...] = field(default=(), repr=False)

    def __str__(self) -> str:
        return f"{self.profile.name} at {self.address}" + (f" (model {self.model})" if self.model else "")


def failed(where: Where, status: int, body: str, headers: Mapping[str, str]) -> ModelError:
    """The error for an answer with this status (3xx, 4xx, 5xx)."""
    data = _json(body)
    wait = retry_after({**_headers_behind(data), **headers}, limited=status == HTTPStatus.TOO_MANY_REQUESTS)
    words = f"{_codes(data)} {_message(data) or body}"
    said = said_in(data, body, where.secrets)
    found: ModelError
    if status == HTTPStatus.PAYMENT_REQUIRED and wait is not None:
        told = f": {said}" if said else ""
        found = RateLimited(f"{where} holds the credit for requests that still run ({status}){told}. Wait a moment.")
    else:
        location = headers.get("location", "")
        found = _filtered(where, status, data, said) or _failure(where, status, words, said, location)
    found.status = status
    found.retry_after = wait
    return found


def failed_inside(where: Where, error: object) -> ModelError:
    """The error for a failure that a server reported in an answer that had begun as a good one."""
    data = {"error": error}
    codes = _codes(data).split()
    status = next((int(code) for code in codes if _IS_STATUS.fullmatch(code)), None)
    if status is None:
        status = next((_STATUS[code] for code in codes if code in _STATUS), None)
    words = f"{_codes(data)} {_message(data) or ''}"
    said = said_in(data, "", where.secrets)
    found = _filtered(where, status or 500, data, said) or _failure(where, status or 500, words, said, "")
    found.status = status
    return found


def broken(where: Where, what: str) -> ReplyBroken:
    """The error for an answer that is no reply."""
    return ReplyBroken(f"{where} {what}")


def lost(where: Where, error: httpx.RequestError, *, answered: bool, characters: int) -> VancetopeError:
    """The error for a connection that failed: before the server answered, or in the middle of its answer."""
    why = said_in(None, _words_of(error), where.secrets)
    told = f": {why}" if why else ""
    if isinstance(error, httpx.LocalProtocolError | httpx.UnsupportedProtocol):
        return ConfigError(f"the request to {where} cannot be sent{told}")
    if answered:
        return broken(where, f"broke off in the middle of its reply, after {characters} characters{told}.")
    if isinstance(error, httpx.ProxyError):
        return Unreachable(f"{where} cannot be reached through the proxy that the environment names{told}.")
    if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):
        start = f"Start it with `{where.profile.start}`." if where.profile.start else "Check the base URL."
        return Unreachable(f"{where} cannot be reached{told}. {start}")
    return Unreachable(f"{where} closed the connection without an answer{told}.")


def _words_of(error: httpx.RequestError) -> str:
    """What a failed connection says, but of a proxy's refusal its status alone: its words may quote its password."""
    status = str(error).partition(" ")[0]
    if not (isinstance(error, httpx.ProxyError) and status.isdecimal()):
        return str(error)
    known = {each.value: each.phrase for each in HTTPStatus}
    return f"{status} {known.get(int(status), '')}"


def not_json(where: Where, body: str) -> ReplyBroken:
    """The error for an answer of status 200 that is neither JSON nor a stream."""
    what = said_in(None, body, where.secrets) if body.strip() else ""
    told = f": {what}" if what else ""
    kind = "an empty page" if not body.strip() else "a web page" if _is_page(body) else "no JSON"
    return broken(where, f"answers with {kind}{told}. Check the base URL; most end in /v1.")


def said_in(data: Any, body: str, secrets: tuple[str, ...]) -> str:
    """What the server itself says, quoted: one line, cut, without secrets. Empty if it says nothing."""
    text = _message(data)
    if text is None:
        text = _title(body) if _is_page(body) else body
    # Half a surrogate pair or a terminal's control character would do harm wherever the sentence goes.
    text = mask("".join(filter(str.isprintable, " ".join(text.split()))), secrets)
    if len(text) > SAID:
        text = text[: SAID - 3] + "..."
    return f'"{text}"' if text else ""


def _filtered(where: Where, status: int, data: Any, said: str) -> PromptFiltered | None:
    """The error for a prompt that was held back for what it says, if it was: a 400 with a code of its own, or a 403
    that names reasons."""
    error = data.get("error") if isinstance(data, Mapping) else None
    if not isinstance(error, Mapping):
        return None
    inner, metadata = error.get("innererror"), error.get("metadata")
    words = f"{_codes(data)} {_codes(inner)}".lower()
    if status == HTTPStatus.FORBIDDEN:
        found = isinstance(metadata, Mapping) and ("flagged_input" in metadata or "reasons" in metadata)
    else:
        found = status < 500 and (
            any(word in words for word in _FILTERED) or _FILTERED[-1] in (_message(data) or "").lower()
        )
    told = f": {said}" if said else ""
    return PromptFiltered(f"{where} holds the request back for what it says ({status}){told}.") if found else None


def _failure(where: Where, status: int, words: str, said: str, location: str) -> ModelError:
    words = words.lower()
    told = f": {said}" if said else ""
    if status < 400:
        target = mask("".join(filter(str.isprintable, location)), where.secrets) or "nowhere"
        return RequestRejected(f"{where} redirects to {target} ({status}): set the base URL to where the API is.")
    if status in {401, 403}:
        return AuthRefused(f"{where} refuses the key ({status}){told}. {_key_advice(where.profile)}")
    if status in {402, 429} and (status == 402 or any(word in words for word in _QUOTA)):
        return QuotaSpent(f"{where} has no credit left for this key ({status}){told}. Add credit or use another key.")
    if status == 429:
        return RateLimited(f"{where} asks for fewer requests (429){told}. Wait, or ask less at a time.")
    if any(word in words for word in _TOO_LONG):
        return ContextTooLong(
            f"{where} says that the conversation does not fit its context window ({status}){told}. "
            "Send less, or use a model with a larger window."
        )
    if status in {408, 409, 425} or status >= 500:
        return ServerFailed(f"{where} failed ({status}){told}. Try again later.")
    if status == 404:
        return RequestRejected(
            f"{where} does not know this model or this path (404){told}. "
            "`vancetope models` lists the models; the base URL of most servers ends in /v1."
        )
    return RequestRejected(f"{where} rejects the request ({status}){told}.")


def _key_advice(profile: Profile) -> str:
    return f"Set {profile.key_variable} to a valid key." if profile.key_variable else "Give it a valid key."


def _codes(data: Any) -> str:
    """The codes and types of a failure, apart by blanks."""
    if isinstance(data, Mapping) and isinstance(data.get("error"), Mapping):
        data = data["error"]
    found = [data.get(name) for name in ("code", "type")] if isinstance(data, Mapping) else []
    return " ".join(str(code) for code in found if isinstance(code, str | int))


def _message(data: Any, depth: int = DEEPEST) -> str | None:
    """The words of a failure among the shapes that servers give it."""
    if isinstance(data, str):
        return data
    if depth == 0:
        return None
    if isinstance(data, list):
        return next((found for item in data if (found := _message(item, depth - 1))), None)
    if not isinstance(data, Mapping):
        return None
    if found := _behind(data.get("metadata"), depth):
        return found
    for name in ("error", "message", "detail", "errors", "msg", "error_description"):
        if found := _message(data.get(name), depth - 1):
            return found
    return None


def _behind(metadata: Any, depth: int) -> str | None:
    """The words of the provider behind a router, which itself says only that there was an error."""
    if not isinstance(metadata, Mapping) or not (raw := metadata.get("raw")):
        return None
    data = (_json(raw) or raw) if isinstance(raw, str) else raw
    found = _message(data, depth - 1)
    provider = metadata.get("provider_name")
    return f"{provider}: {found}" if found and isinstance(provider, str) else found


def _headers_behind(data: Any) -> dict[str, str]:
    """The headers of the provider behind a router, which gives them in the body."""
    error = data.get("error") if isinstance(data, Mapping) else None
    metadata = error.get("metadata") if isinstance(error, Mapping) else None
    headers = metadata.get("headers") if isinstance(metadata, Mapping) else None
    return {str(name).lower(): str(each) for name, each in headers.items()} if isinstance(headers, Mapping) else {}


def _json(body: str) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _is_page(body: str) -> bool:
    return body.lstrip()[:1] == "<"


def _title(body: str) -> str:
    lowered = body.lower()
    start = lowered.find("<title")
    start = lowered.find(">", start) if start >= 0 else -1
    end = lowered.find("</title", start)
    return body[start + 1 : end] if 0 <= start < end else ""
