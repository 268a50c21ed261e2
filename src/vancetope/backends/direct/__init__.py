"""Anthropic's and Google's own APIs, over pydantic-ai's direct layer."""

from vancetope.backends.direct.client import Direct, connect, warm
from vancetope.backends.direct.extras import Kind, missing_extra

__all__ = ["Direct", "Kind", "connect", "missing_extra", "warm"]
