"""Faults of servers and proxies that answer at once: statuses, error shapes, bodies that are something else."""

from __future__ import annotations

from collections.abc import Iterator

from vancetope.backends.faults.asked import Asked, dumped
from vancetope.backends.faults.fault import Fault, body, error_object, error_of, named, status
from vancetope.backends.faults.render import whole
from vancetope.backends.faults.wire import Step, Wire
from vancetope.backends.scripted import say

PAGE = "<!doctype html><html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>"


def half_json(asked: Asked) -> bytes:
    """An answer up to the middle of its text."""
    return whole(say("Hello"), asked, Wire()).partition(b"lo")[0]


def bad_utf8(asked: Asked) -> bytes:
    """An answer with a byte in it that is not UTF-8."""
    return whole(say("Zürich"), asked, Wire()).replace("ü".encode(), b"\xfc")


def overloaded(asked: Asked) -> bytes:
    """An error object."""
    return dumped(error_of(asked, 503, "overloaded")).encode()


def _context(asked: Asked, wire: Wire) -> Iterator[Step]:
    sentences = {
        "anthropic": "prompt is too long: 9001 tokens > 8192 maximum",
        "gemini": "The input token count (9001) exceeds the maximum number of tokens allowed (8192).",
    }
    own = status(400, message=sentences.get(asked.dialect, ""))
    return (OPENAI_CONTEXT if asked.dialect == "openai" else own).plan(asked, wire)


def _key(asked: Asked, wire: Wire) -> Iterator[Step]:
    if asked.dialect == "openai":
        error = error_object("incorrect API key provided", "invalid_request_error", param=None, code="invalid_api_key")
        return status(401, error).plan(asked, wire)
    if asked.dialect == "anthropic":
        return status(401, message="invalid x-api-key").plan(asked, wire)
    made = error_of(asked, 400, "API key not valid. Please pass a valid API key.")
    kind = "type.googleapis.com/google.rpc.ErrorInfo"
    made["error"]["details"] = [{"@type": kind, "reason": "API_KEY_INVALID", "domain": "googleapis.com"}]
    return status(400, made).plan(asked, wire)


OPENAI_CONTEXT = status(
    400,
    error_object(
        "This model's maximum context length is 8192 tokens, the messages have 9001.",
        "invalid_request_error",
        param="messages",
        code="context_length_exceeded",
    ),
)
KEY_REFUSED = Fault("key_refused", "The key is not accepted, in the provider's own words.", _key, leaves="error")

STATUSES = (
    KEY_REFUSED,
    Fault(
        "context_exceeded",
        "The conversation does not fit, in the provider's own words.",
        _context,
        ("C32", "C87"),
        "error",
    ),
    named("status_400", "The request itself is rejected.", status(400)),
    named("status_401", "The key is not accepted.", status(401)),
    named("status_403", "The key may not use this model.", status(403)),
    named("status_404", "There is no such model or path.", status(404)),
    named("status_429", "Too many requests, and when to come back.", status(429, None, ("retry-after", "1"))),
    named(
        "status_429_date",
        "Too many requests; the time to come back is a date, long past.",
        status(429, None, ("retry-after", "Wed, 01 Oct 2025 00:00:00 GMT")),
    ),
    named("status_429_bare", "Too many requests, and nothing about when.", status(429)),
    named("status_429_hours", "Too many requests; come back in an hour.", status(429, None, ("retry-after", "3600"))),
    named("status_429_body", "Too many requests; when to come back stands in the body.", status(429, retry_after=1)),
    named("status_500", "The server fails.", status(500)),
    named("status_502", "A proxy fails, with a page for people.", status(502, PAGE)),
    named("status_503", "The server is busy, and says so without a body.", status(503, b"")),
    named("status_529", "The provider is overloaded, in a status of its own.", status(529)),
    named(
        "context_openai",
        "The conversation does not fit, as OpenAI says it.",
        OPENAI_CONTEXT,
        "C32 C87",
    ),
    named(
        "context_anthropic",
        "The conversation does not fit, as Anthropic says it.",
        status(
            400,
            {
                "type": "error",
                **error_object("prompt is too long: 9001 tokens > 8192 maximum", "invalid_request_error"),
            },
        ),
        "C32 C87",
    ),
    named(
        "context_llamacpp",
        "The conversation does not fit, as llama.cpp says it.",
        status(
            400,
            error_object(
                "the request exceeds the available context size",
                "exceed_context_size_error",
                code=400,
                n_prompt_tokens=9001,
                n_ctx=8192,
            ),
        ),
        "C32 C87",
    ),
    named(
        "context_vllm",
        "The conversation does not fit, as older vLLM says it: no error object around.",
        status(
            400,
            {
                "object": "error",
                "message": "This model's maximum context length is 8192 tokens. However, you requested 9001 tokens.",
                "type": "BadRequestError",
                "code": 400,
            },
        ),
        "C32 C87",
    ),
    named(
        "context_gemini",
        "The conversation does not fit, as Gemini says it: an array around the error.",
        status(
            400,
            [
                {
                    "error": {
                        "code": 400,
                        "message": "The input token count (9001) exceeds the maximum number of tokens allowed (8192).",
                        "status": "INVALID_ARGUMENT",
                    }
                }
            ],
        ),
        "C32 C87",
    ),
    named(
        "forced_choice_refused",
        "A tool choice by name is refused.",
        status(400, message="tool_choice by name is not supported with thinking"),
        "C45",
    ),
    named(
        "schema_refused",
        "The JSON schema is refused.",
        status(400, message="schema uses keywords that are not supported"),
        "C96 C97 C98",
    ),
)

BODIES = (
    named("html_page", "A page for people, with status 200.", body(PAGE.encode(), content_type="text/html")),
    named("not_json", "A body that is no JSON, though the header says so.", body(b"upstream timed out")),
    named("half_json", "Valid framing around half a JSON text.", body(half_json)),
    named("other_json", "JSON, but of something else.", body(b'{"status": "ok"}'), "C32"),
    named("json_array", "A JSON array.", body(b"[]")),
    named("json_null", "The JSON value null.", body(b"null")),
    named("empty_body", "Nothing, with status 200.", body(b"")),
    named("error_in_body", "An error object, with status 200.", body(overloaded)),
    named("bad_utf8_body", "A body that is not UTF-8.", body(bad_utf8), leaves="either"),
)
