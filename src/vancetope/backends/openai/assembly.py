"""The chunks of a stream put together to the answer that would have come without streaming."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from vancetope.backends.base import CallPiece, Piece, TextPiece, ThinkingPiece
from vancetope.backends.openai.arguments import Arguments
from vancetope.backends.openai.carried import joined
from vancetope.backends.openai.failures import Where, broken, failed_inside
from vancetope.backends.openai.reading import arguments_in, failure_in, refusal_in, text_in, thinking_in
from vancetope.backends.openai.sse import DONE, Sent, values
from vancetope.messages import Reply


class _Call:
    """A call that is still being written. Its name counts as whole once arguments come or another call begins."""

    def __init__(self, position: int) -> None:
        self.position = position
        self.id = ""
        self.arguments = Arguments()
        self.told = False
        self._name: list[str] = []
        self._name_length = 0

    @property
    def name(self) -> str:
        if len(self._name) > 1:
            self._name = ["".join(self._name)]
        return self._name[0] if self._name else ""

    def named(self, name: str) -> None:
        # Some servers repeat the name in each chunk, some send it in pieces, some send it longer each time.
        if self.told:
            return
        if len(name) >= self._name_length and name.startswith(self.name):
            self._name, self._name_length = [], 0
        self._name.append(name)
        self._name_length += len(name)


class Assembly:
    """A streamed reply in the making: takes chunks, tells pieces, and gives the whole as a body that did not stream."""

    def __init__(self, tell: Callable[[Piece], None]) -> None:
        self._tell = tell
        self._text: list[str] = []
        self._thinking: list[str] = []
        self._thinking_field = "thinking"  # what goes back to the server has another name
        self._details: list[Any] = []
        self._refusal: list[str] = []
        self._calls: list[_Call] = []
        self._by_index: dict[object, _Call] = {}  # the last of each
        self._by_id: dict[str, _Call] = {}
        self._usage: Any = None
        self._model: Any = None
        self._end_turn: bool | None = None
        self._choices = False
        self.finish: Any = None
        self.done = False

    @property
    def complete(self) -> bool:
        """Whether the server said that it was through: by a finish or by the end mark."""
        return self.done or self.finish is not None

    @property
    def characters(self) -> int:
        """How much came so far."""
        pieces = (self._text, self._thinking, self._refusal)
        return sum(len(piece) for part in pieces for piece in part) + sum(call.arguments.length for call in self._calls)

    @property
    def _begun(self) -> bool:
        return bool(self._text or self._thinking or self._refusal or self._calls)

    def add(self, chunk: Mapping[str, Any]) -> None:
        """Take one chunk; what it holds beside the first choice and the usage is passed over."""
        self._usage = chunk.get("usage") or self._usage
        self._model = chunk.get("model") or self._model
        self._note_end_turn(chunk)
        choices = chunk.get("choices")
        if not isinstance(choices, list):
            return
        self._choices = True
        for choice in choices:
            if isinstance(choice, dict) and not choice.get("index"):
                self._choice(choice)

    def body(self) -> dict[str, Any]:
        """The whole answer, in the shape of one that did not stream."""
        self._tell_last_name()
        message: dict[str, Any] = {"role": "assistant", "content": "".join(self._text)}
        for field, parts in ((self._thinking_field, self._thinking), ("refusal", self._refusal)):
            if parts:
                message[field] = "".join(parts)
        if self._details:
            message["reasoning_details"] = joined(self._details)
        if self._calls:
            message["tool_calls"] = [
                {"id": call.id, "function": {"name": call.name, "arguments": str(call.arguments)}}
                for call in self._calls
            ]
        if self._end_turn is not None:
            message["end_turn"] = self._end_turn
        body: dict[str, Any] = {"model": self._model, "usage": self._usage}
        if self._choices:
            body["choices"] = [{"message": message, "finish_reason": self.finish}]
        return body

    def _choice(self, choice: Mapping[str, Any]) -> None:
        # Some servers send an empty finish with every chunk; that is none.
        self.finish = choice.get("finish_reason") or self.finish
        self._note_end_turn(choice)
        delta = choice.get("delta")
        if not isinstance(delta, dict) and not self._begun:
            # A server that streams for form's sake sends its whole message at once; behind deltas it is a repetition.
            delta = choice.get("message")
        if not isinstance(delta, dict):
            return
        self._note_end_turn(delta)
        thinking, field = thinking_in(delta)
        if thinking:
            if field in ("reasoning_content", "reasoning"):
                self._thinking_field = field
            self._thinking.append(thinking)
            self._tell(ThinkingPiece(thinking))
        if isinstance(details := delta.get("reasoning_details"), list):
            self._details += details
        if text := text_in(delta.get("content")):
            self._text.append(text)
            self._tell(TextPiece(text))
        if refusal := refusal_in(delta):
            self._refusal.append(refusal)
            self._tell(TextPiece(refusal))
        listed = delta.get("tool_calls")
        for item in listed if isinstance(listed, list) else ():
            if isinstance(item, dict):
                self._call(item)
        if isinstance(legacy := delta.get("function_call"), dict):
            self._call({"index": "function_call", "function": legacy})

    def _call(self, item: Mapping[str, Any]) -> None:
        function = item.get("function")
        if not isinstance(function, dict):
            function = item
        call_id = item.get("id") if isinstance(item.get("id"), str) else ""
        name = function.get("name") if isinstance(function.get("name"), str) else ""
        call = self._meant(item.get("index"), call_id or "", name or "")
        if call_id and not call.id:
            call.id = call_id
            self._by_id[call_id] = call
        if name:
            call.named(name)
        arguments = function.get("arguments")
        if isinstance(arguments, str) or not call.arguments:
            self._write(call, arguments_in(arguments))

    def _meant(self, index: object, call_id: str, name: str) -> _Call:
        """The call that a delta goes on with, or a new one.

        The index decides, where there is one; else the id; else it is the last call. But some gateways number every
        call 0 or give every call one id, so whole arguments followed by another id or name begin a new call.
        """
        last = self._calls[-1] if self._calls else None
        if isinstance(index, int | float | str):
            call = self._by_index.get(index)
        else:
            index, call = None, self._by_id.get(call_id, last)
        if call is not None:
            other_id = bool(call_id and call.id and call_id != call.id)
            if index is None:
                begins = other_id or bool(name and call.arguments)
            else:
                begins = bool(name) and (other_id or bool(call.arguments and name != call.name))
            if not (begins and call.arguments.whole()):
                return call
        self._tell_last_name()
        call = _Call(len(self._calls))
        self._calls.append(call)
        if index is not None:
            self._by_index[index] = call
        return call

    def _write(self, call: _Call, arguments: str) -> None:
        if not arguments:
            return
        name = "" if call.told else call.name
        call.told = True
        call.arguments.add(arguments)
        self._tell(CallPiece(call.position, name, arguments))

    def _tell_last_name(self) -> None:
        """Tell the last call by its name alone, if nothing was told of it; all before it were told when it began."""
        if self._calls and not (call := self._calls[-1]).told:
            call.told = True
            self._tell(CallPiece(call.position, call.name, ""))

    def _note_end_turn(self, level: Mapping[str, Any]) -> None:
        if isinstance(said := level.get("end_turn"), bool):
            self._end_turn = said


def take(event: Sent, assembly: Assembly, where: Where) -> None:
    """Add one event of the stream to the reply. Behind the end mark, and once whole, nothing can break it any more."""
    if assembly.done:
        return
    try:
        found = values(event)
    except (ValueError, RecursionError):
        if assembly.complete:
            return
        raise broken(where, f"sent a chunk that is no JSON, after {assembly.characters} characters.") from None
    for value in found:
        if value == DONE:
            assembly.done = True
            return
        error = (value.get("error") or failure_in(value)) if isinstance(value, dict) else None
        if error or event.name == "error":
            if not assembly.complete:
                raise failed_inside(where, error or value)
        elif isinstance(value, dict):
            assembly.add(value)


def tell_whole(reply: Reply, tell: Callable[[Piece], None]) -> None:
    """Tell a reply that came in one piece although a stream was asked for."""
    if reply.thinking:
        tell(ThinkingPiece(reply.thinking))
    if reply.text:
        tell(TextPiece(reply.text))
    for position, call in enumerate(reply.calls):
        tell(CallPiece(position, call.name, call.arguments))
