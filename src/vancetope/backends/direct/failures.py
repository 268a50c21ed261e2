"""What a failure of these APIs means: their own words and names first, then what they share with everybody."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from vancetope.backends.openai import failures as shared
from vancetope.backends.openai.failures import QuotaSpent, Where, broken, said_in
from vancetope.backends.openai.waiting import retry_after
from vancetope.errors import AuthRefused, ContextTooLong, ModelError, ReplyBroken, RequestRejected

# The status that a failure inside a stream would have had, by its type (Anthropic) or status (Gemini).
_STATUS = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
    "invalid_argument": 400,
    "failed_precondition": 400,
    "unauthenticated": 401,
    "permission_denied": 403,
    "not_found": 404,
    "resource_exhausted": 429,
    "internal": 500,
    "unavailable": 503,
    "deadline_exceeded": 504,
}
_TOO_LONG = ("exceed context limit", "request_too_large", "exceeds the maximum number of tokens")
_BAD_KEY = ("api key not valid", "api_key_invalid", "api key expired", "api_key_expired")
_NO_CREDIT = ("credit balance is too low", "billing_error", "credits are depleted")
_PER_DAY = "perday"
_IS_STATUS = re.compile(r"[45][0-9]{2}")
_DELAY = re.compile(r"(\d+(?:\.\d+)?)s")


def failed(where: Where, status: int, body: str, headers: Mapping[str, str]) -> ModelError:
    """The error for an answer with this status (3xx, 4xx, 5xx)."""
    data = _json(body)
    found = _known(where, status, body.lower(), said_in(data, body, where.secrets)) if status >= 400 else None
    if found is None:
        found = shared.failed(where, status, body, headers)
    else:
        found.status, found.retry_after = status, retry_after(headers, limited=status == 429)
    if found.retry_after is None:
        found.retry_after = _delay(data)
    return found


def failed_inside(where: Where, error: object) -> ModelError:
    """The error for a failure that a server reported in an answer that had begun as a good one."""
    fields = error if isinstance(error, Mapping) else {}
    said = [fields.get(name) for name in ("code", "type", "status")]
    status = next((found for each in said if (found := _status(each))), 500)
    try:
        body = json.dumps({"error": error}, default=str)
    except (ValueError, RecursionError):
        body = ""
    return failed(where, status, body, {})


def not_json(where: Where, body: str, *, streams: bool) -> ReplyBroken:
    """The error for an answer of status 200 that is not JSON, and no stream where one was asked for."""
    begun = body.lstrip()
    what = said_in(None, body, where.secrets) if begun else ""
    told = f": {what}" if what else ""
    kind = "an empty page" if not begun else "a web page" if begun.startswith("<") else "no JSON"
    if not streams and begun.startswith(("data:", "event:", ":")):
        kind = "a stream where none was asked for"
    return broken(where, f"answers with {kind}{told}. Check the base URL.")


def _known(where: Where, status: int, words: str, said: str) -> ModelError | None:
    """The failures that only these APIs have, or that they say in a way of their own."""
    told = f": {said}" if said else ""
    if status == 404:
        return RequestRejected(
            f"{where} does not know this model (404){told}. "
            "`vancetope models` lists the models; look at the base URL if the name is right."
        )
    if status == 400 and any(word in words for word in _BAD_KEY):
        variable = where.profile.key_variable
        advice = f"Set {variable} to a valid key." if variable else "Give it a valid key."
        return AuthRefused(f"{where} refuses the key ({status}){told}. {advice}")
    if status in {400, 402, 403, 429} and any(word in words for word in _NO_CREDIT):
        return QuotaSpent(f"{where} has no credit left for this key ({status}){told}. Add credit or use another key.")
    if status == 429 and _PER_DAY in words:
        return QuotaSpent(f"{where} has served what this key may ask for today ({status}){told}. Use another key.")
    if status in {400, 413} and any(word in words for word in _TOO_LONG):
        return ContextTooLong(
            f"{where} says that the conversation does not fit its context window ({status}){told}. "
            "Send less, or use a model with a larger window."
        )
    return None


def _status(code: object) -> int | None:
    """The status that a code means, as a number or in words."""
    if isinstance(code, float) and code.is_integer():
        code = int(code)
    if not isinstance(code, int | str):
        return None
    words = str(code).strip().lower()
    return int(words) if _IS_STATUS.fullmatch(words) else _STATUS.get(words)


def _delay(data: Any) -> float | None:
    """The seconds that Gemini asks us to wait: it says so in the details of its failure, not in a header."""
    inner = data.get("error") if isinstance(data, Mapping) else None
    details = inner.get("details") if isinstance(inner, Mapping) else None
    for each in details if isinstance(details, list) else ():
        delay = each.get("retryDelay") if isinstance(each, Mapping) else None
        if isinstance(delay, str) and (found := _DELAY.fullmatch(delay.strip())):
            return float(found[1])
    return None


def _json(body: str) -> Any:
    try:
        data = json.loads(body)
    except (ValueError, RecursionError):
        return None
    # Gemini puts the failure of a stream into a list.
    return data[0] if isinstance(data, list) and data else data
