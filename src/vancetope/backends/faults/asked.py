"""What a client asked the fault server: the parsed body, and what a script wants to know about it."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from vancetope import sentences
from vancetope.tools.respond import ANSWER, RESPOND

DialectName: TypeAlias = Literal["openai", "anthropic", "gemini"]


@dataclass(slots=True)
class Asked:
    """One chat request. The server sets `answer` and `disconnected` while it answers; nothing else changes.

    `body` is what came, in its own `dialect`; `form` is the same in OpenAI's chat format. All views below read `form`,
    so scripts and tests need not know who asked.
    `headers` are lower-case and hold no key; `authorized` says whether the key was right (None: the server has none).
    `arrived` is in seconds on the event loop's clock. `size` is the body's length in bytes.
    `disconnected`: the client left before it had the whole answer.
    """

    body: Mapping[str, Any]
    number: int = 1
    headers: Mapping[str, str] = field(default_factory=dict)
    authorized: bool | None = None
    arrived: float = 0.0
    size: int = 0
    answer: str = ""
    disconnected: bool = False
    dialect: DialectName = "openai"
    chat: Mapping[str, Any] | None = None

    @property
    def form(self) -> Mapping[str, Any]:
        """The request in OpenAI's chat format, whatever its dialect."""
        return self.body if self.chat is None else self.chat

    @property
    def stream(self) -> bool:
        return self.form.get("stream") is True

    @property
    def model(self) -> str:
        return str(self.form.get("model", ""))

    @property
    def messages(self) -> list[Mapping[str, Any]]:
        """The messages that are objects; the system prompt is the first of them."""
        return objects(self.form.get("messages"))

    @property
    def system(self) -> str:
        """The system prompt; empty if there is none."""
        first = self.messages[0] if self.messages else {}
        return text_of(first.get("content")) if first.get("role") in ("system", "developer") else ""

    @property
    def turns(self) -> list[tuple[str, str]]:
        """Role and text of each message behind the system prompt; "tool" is the role of a result."""
        said = [(str(each.get("role")), text_of(each.get("content"))) for each in self.messages]
        return said[1:] if said and said[0][0] in ("system", "developer") else said

    @property
    def forced(self) -> str | None:
        """The name of the tool that must be called, "required" where any must be, None where the model is free."""
        choice = self.form.get("tool_choice")
        if isinstance(choice, dict):
            function = choice.get("function")
            return str(function.get("name")) if isinstance(function, dict) else None
        return "required" if choice == "required" else None

    @property
    def thinking(self) -> bool:
        """Whether the request asks the model to think before it answers."""
        return self.form.get("reasoning_effort") not in (None, "none")

    @property
    def schema(self) -> Mapping[str, Any] | None:
        """The JSON Schema that the text must fit, where one is asked for."""
        wanted = self.form.get("response_format")
        if not isinstance(wanted, dict) or wanted.get("type") != "json_schema":
            return None
        inner = wanted.get("json_schema")
        schema = inner.get("schema") if isinstance(inner, dict) else None
        return schema if isinstance(schema, dict) else {}

    @property
    def envelope(self) -> bool:
        """Whether the text is asked for as the envelope of prompted models."""
        return any(sentences.ENVELOPE_FORM in str(each.get("content")) for each in self.messages[:1])

    @property
    def tools(self) -> Mapping[str, Mapping[str, Any]]:
        """The offered tools, name to JSON Schema of the arguments, from `tools` or from an action schema; of an
        envelope's tools all that is known is the example of each."""
        found = {}
        for each in objects(self.form.get("tools")):
            function = each.get("function")
            if isinstance(function, dict):
                found[str(function.get("name"))] = function.get("parameters") or {}
        return found or dict(_actions(self.schema)) or (dict(_examples(self.messages[0])) if self.envelope else {})

    @property
    def result(self) -> str | None:
        """The text of the last message, if that is a tool's result; in the action and the envelope form, what follows
        one that does not end the turn."""
        last = self.messages[-1] if self.messages else {}
        if last.get("role") == "tool":
            return text_of(last.get("content"))
        as_text = self.schema is not None or self.envelope
        before = self.messages[-2] if as_text and len(self.messages) > 1 else {}
        if before.get("role") != "assistant" or not _works(text_of(before.get("content"))):
            return None
        return text_of(last.get("content")).split("\n", 1)[-1]

    @property
    def said(self) -> str:
        """What the last user message says; empty if there is none."""
        said = [text_of(each.get("content")) for each in self.messages if each.get("role") == "user"]
        return said[-1] if said else ""


def _works(text: str) -> bool:
    """Whether this is an action or an envelope with a tool that does not end the turn."""
    try:
        said = json.loads(text)
    except ValueError:
        return False
    if not isinstance(said, dict):
        return False
    called = said.get("tool_calls", [{"name": said.get("tool")}])
    return any(each.get("name") not in (None, RESPOND, ANSWER) for each in called)


def objects(value: object) -> list[Mapping[str, Any]]:
    """The objects in a JSON array; none where it is no array."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def text_of(content: object) -> str:
    """The text in a message's content, be it a string or a list of parts."""
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def parsed(arguments: str) -> Any:
    """A call's arguments where a dialect has them as an object: the value of their JSON text, {} where they are the
    empty text, and the text itself where it is no JSON."""
    try:
        return json.loads(arguments or "{}")
    except (ValueError, RecursionError):
        return arguments


def signature(thinking: str, prefix: str = "") -> str:
    """What this server signs thinking with, so that a changed thought is found when it comes back; with a prefix, it
    also binds the thought to what was said before it."""
    return base64.b64encode(_digest(thinking) + (_digest(prefix) if prefix else b"")).decode()


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def sample(schema: Mapping[str, Any], depth: int = 0) -> Any:
    """A small value that fits most simple schemas: the required properties, the first of a choice. Not a validator."""
    if "const" in schema:
        return schema["const"]
    if schema.get("enum"):
        return schema["enum"][0]
    kind = schema.get("type", "object" if "properties" in schema else None)
    match kind[0] if isinstance(kind, list) and kind else kind:
        case "string":
            return "Paris".ljust(schema.get("minLength", 0), ".")
        case "integer" | "number":
            return schema.get("minimum", 1)
        case "boolean":
            return True
        case "array":
            items = schema.get("items") if depth < 5 else None
            return [sample(items, depth + 1)] * schema.get("minItems", 0) if isinstance(items, dict) else []
        case "object" if depth < 5:
            properties = schema.get("properties", {})
            return {name: sample(properties.get(name, {}), depth + 1) for name in schema.get("required", ())}
    for key in ("anyOf", "oneOf", "allOf"):
        if schema.get(key):
            return sample(schema[key][0], depth + 1)
    return None if kind == "null" else {}


def dumped(value: Any) -> str:
    """JSON text that keeps every character as it is, or escapes all where one of them has no UTF-8 form."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":"))
    return text


def _examples(system: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The call that each tool's description in an envelope's instructions shows, as a schema that only it fits."""
    for line in text_of(system.get("content")).splitlines():
        _, found, shown = line.partition(f"{sentences.ACTION_EXAMPLE} ")
        if found:
            (call,) = json.loads(shown)["tool_calls"]
            yield call["name"], {"const": call["arguments"]}


def _actions(schema: object) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every `{"tool": const, "arguments": schema}` that stands anywhere in an action schema."""
    if isinstance(schema, list):
        for each in schema:
            yield from _actions(each)
    elif isinstance(schema, dict):
        properties = schema.get("properties")
        tool = properties.get("tool") if isinstance(properties, dict) else None
        if isinstance(properties, dict) and isinstance(tool, dict):
            names = [tool["const"]] if "const" in tool else tool.get("enum", [])
            yield from ((str(name), properties.get("arguments") or {}) for name in names)
        else:
            for each in schema.values():
                yield from _actions(each)
