"""Any async function from text to text as a model.

    async def ask_somebody(prompt: str) -> str: ...

    backend = TextBackend(ask_somebody)

The function is given the whole conversation as one text (`transcript`) and returns what the model says next. What it
cannot be asked for, tools of a provider and grammars, is asked for in words: its enforcement is `prompted`.
"""

from vancetope.backends.text.backend import TextBackend, TextFunction
from vancetope.backends.text.transcript import transcript

__all__ = ["TextBackend", "TextFunction", "transcript"]
