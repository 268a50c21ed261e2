"""Our messages as the library's: who speaks in turn, and what each says."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias
from urllib.parse import unquote_to_bytes

from vancetope.backends.direct.carried import pieces_of
from vancetope.backends.direct.extras import Kind
from vancetope.errors import ConfigError
from vancetope.messages import Assistant, File, Image, Part, Result, User, whole_characters
from vancetope.schema.strict import NotJson, parse

Spoken: TypeAlias = User | Assistant | Result

SILENT = "(no text)"
"""Stands for a message without any text, which the APIs refuse."""

_MODEL: Literal["model"] = "model"
_USER: Literal["user"] = "user"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
_NOT_IN_NAME = re.compile(r"[^A-Za-z0-9_-]")
_MEDIA_TYPE = re.compile(r"[\w.+-]+/[\w.+-]+", re.ASCII)
_BLANK = re.compile(rb"\s+")
_IMAGES = {"png": "image/png", "gif": "image/gif", "webp": "image/webp", "heic": "image/heic", "heif": "image/heif"}
_TEXTS = frozenset(
    {"application/json", "application/xml", "application/yaml", "application/x-yaml", "application/toml"}
)


@dataclass(frozen=True, slots=True)
class Turn:
    """What one side says until the other speaks."""

    side: Literal["user", "model"]
    messages: tuple[Spoken, ...]


def turns_of(messages: Iterable[Spoken]) -> tuple[list[Turn], list[int]]:
    """The messages by who speaks, and where each turn begins. Those of a model that say nothing are left
    out. Results are said by the user."""
    turns: list[Turn] = []
    starts: list[int] = []
    side: Literal["user", "model"] | None = None
    said: list[Spoken] = []
    for position, message in enumerate(messages):
        is_model = isinstance(message, Assistant)
        if is_model and _is_silent(message):
            continue
        if side == (speaker := _MODEL if is_model else _USER):
            said.append(message)
            continue
        if side is not None:
            turns.append(Turn(side, tuple(said)))
        starts.append(position)
        side, said = speaker, [message]
    if side is not None:
        turns.append(Turn(side, tuple(said)))
    return turns, starts


def spoken(turns: Sequence[Turn], kind: Kind, system: str, model: str) -> list[Any]:
    """The turns as the library's messages, one each. `system` is the library's name of the provider, `model` the
    one that is asked. Raises
    `ConfigError` for a file or an image that cannot be sent."""
    from pydantic_ai.messages import ModelRequest, ModelResponse

    made: list[Any] = []
    for turn in turns:
        if turn.side == "user":
            made.append(ModelRequest(parts=[_said(each, kind) for each in turn.messages]))
        else:
            parts = [part for each in turn.messages for part in _answered(each, kind, system, model)]
            made.append(ModelResponse(parts=parts, provider_name=system))
    return made


def _is_silent(message: Spoken) -> bool:
    return isinstance(message, Assistant) and not message.calls and not message.text.strip()


def _said(message: Spoken, kind: Kind) -> Any:
    from pydantic_ai.messages import ToolReturnPart, UserPromptPart

    if isinstance(message, Result):
        # An empty text is no block for Anthropic: there the list of blocks is empty.
        said: Any = whole_characters(message.text) if message.text.strip() or kind == "gemini" else []
        outcome: Literal["success", "failed"] = "success" if message.ok else "failed"
        return ToolReturnPart(_named(message.name), said, message.call_id, outcome=outcome)
    assert isinstance(message, User)
    if isinstance(message.content, str):
        return UserPromptPart(whole_characters(message.content) if message.content.strip() else SILENT)
    return UserPromptPart([*_parts(message.content, kind)] or SILENT)


def _parts(parts: Sequence[Part], kind: Kind) -> Iterator[Any]:
    for part in parts:
        if isinstance(part, Image):
            yield _image(part.url, kind)
        elif isinstance(part, File):
            yield _file(part, kind)
        elif part.text.strip():
            yield whole_characters(part.text)


def _image(url: str, kind: Kind) -> Any:
    from pydantic_ai.messages import BinaryContent, ImageUrl, UploadedFile

    if url[:5].lower() == "data:":
        media_type, data = _data(url)
        return BinaryContent(data, media_type=media_type)
    if kind == "anthropic":
        return ImageUrl(url)
    if url[:8].lower() != "https://":
        raise ConfigError("gemini fetches images from https addresses only; send the image itself as a data URL")
    ending = url.partition("?")[0].rpartition(".")[2].lower()
    # The library would fetch the image itself and send it; the server does so on its own.
    return UploadedFile(f"https://{url[8:]}", provider_name="google", media_type=_IMAGES.get(ending, "image/jpeg"))


def _data(url: str) -> tuple[str, bytes]:
    head, comma, said = url[len("data:") :].partition(",")
    media_type, *parameters = (each.strip().lower() for each in head.split(";"))
    if not comma or (media_type and not _MEDIA_TYPE.fullmatch(media_type)):
        raise ConfigError("an image's data URL is none: it looks like data:image/png;base64,iVBORw0...")
    data = unquote_to_bytes(whole_characters(said))
    return media_type or "image/png", _decoded(data, "an image") if "base64" in parameters else data


def _file(file: File, kind: Kind) -> Any:
    from pydantic_ai.messages import BinaryContent

    media_type, *parameters = (each.strip() for each in file.media_type.split(";"))
    data, media_type = _decoded(file.data, f"the file {file.name!r}"), media_type.lower()
    if media_type.startswith("text/") or media_type in _TEXTS:
        data = _in_utf8(data, parameters, file.name)
    if kind == "anthropic" and not media_type.startswith("image/") and media_type != "application/pdf":
        if not media_type.startswith("text/") and media_type not in _TEXTS:
            raise ConfigError(f"the file {file.name!r} is {media_type}; anthropic takes images, PDF and text")
        media_type = "text/plain"
    return BinaryContent(data, media_type=media_type)


def _in_utf8(data: bytes, parameters: Iterable[str], name: str) -> bytes:
    """A text as the APIs read it, from the character set that its media type names."""
    named = {key.strip().lower(): value.strip(" \"'") for key, _, value in (each.partition("=") for each in parameters)}
    charset = named.get("charset") or "utf-8"
    try:
        return data.decode(charset, "replace").encode("utf-8", "replace")
    except (LookupError, UnicodeError, ValueError):
        raise ConfigError(
            f"the file {name!r} cannot be read in the character set {charset!r} of its media type"
        ) from None


def _decoded(data: str | bytes, what: str) -> bytes:
    try:
        written = _BLANK.sub(b"", data.encode() if isinstance(data, str) else data)
        return base64.b64decode(written + b"=" * (-len(written) % 4), validate=True)
    except (binascii.Error, ValueError):
        raise ConfigError(f"{what} is no base64") from None


def _answered(message: Spoken, kind: Kind, system: str, model: str) -> Iterator[Any]:
    from pydantic_ai.messages import TextPart, ThinkingPart, ToolCallPart

    assert isinstance(message, Assistant)
    for piece in pieces_of(message, kind, model):
        signed: Any = {"provider_name": system} if piece.signature else {}
        if piece.signature and kind == "gemini":
            signed["provider_details"] = {"thought_signature": piece.signature}
        match piece.what:
            case "thinking" if piece.text != whole_characters(piece.text):
                pass  # neither can it be written as it was signed, nor is it taken otherwise
            case "text":
                yield TextPart(whole_characters(piece.text), **signed)
            case "call":
                call = message.calls[piece.number]
                yield ToolCallPart(_named(call.name), _arguments(call.arguments), call.id, **signed)
            case "thinking" if kind == "anthropic":
                yield ThinkingPart(piece.text, signature=piece.signature, **signed)
            case "redacted" if kind == "anthropic":
                yield ThinkingPart("", id="redacted_thinking", signature=piece.signature, **signed)
            case _:
                yield ThinkingPart(piece.text, **signed)


def _named(name: str) -> str:
    """A name that a model made up is refused by every server when it comes back in the history."""
    if _NAME.fullmatch(name):
        return name
    made = _NOT_IN_NAME.sub("_", name)[:63]
    return made if _NAME.fullmatch(made) else f"_{made}"


def _arguments(text: str) -> dict[str, Any]:
    """Arguments as the object that these APIs want; what is none stands in one."""
    if not text.strip():
        return {}
    try:
        found = parse(text)
    except NotJson:
        found = None
    return found if isinstance(found, dict) else {"unreadable": whole_characters(text)}
