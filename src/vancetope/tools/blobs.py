"""Where whole results lie that were too long for the conversation."""

from __future__ import annotations

import hashlib
import sys
from collections import OrderedDict


class Blobs:
    """Texts in memory under short handles; when all together exceed `capacity` bytes the oldest are dropped."""

    def __init__(self, capacity: int = 256 * 1024 * 1024) -> None:
        self._capacity = capacity
        self._texts: OrderedDict[str, str] = OrderedDict()
        self._size = 0

    def put(self, call_id: str, text: str) -> str | None:
        """Keep the result of this call; its handle, or `None` where the text alone exceeds the capacity.

        A handle is never given twice while its text is here.
        """
        size = sys.getsizeof(text)
        if size > self._capacity:
            return None
        while self._texts and self._size + size > self._capacity:
            _, dropped = self._texts.popitem(last=False)
            self._size -= sys.getsizeof(dropped)
        handle = self._unused(call_id)
        self._texts[handle] = text
        self._size += size
        return handle

    def get(self, handle: str) -> str | None:
        """The text under this handle, if it is still here."""
        return self._texts.get(handle)

    def handles(self) -> tuple[str, ...]:
        """The handles, oldest first."""
        return tuple(self._texts)

    def _unused(self, call_id: str) -> str:
        plain = call_id.isascii() and call_id.replace("_", "").replace("-", "").isalnum()
        base = call_id if plain and len(call_id) <= 20 else hashlib.sha256(call_id.encode()).hexdigest()[:8]
        handle, number = f"r-{base}", 2
        while handle in self._texts:
            handle, number = f"r-{base}-{number}", number + 1
        return handle
