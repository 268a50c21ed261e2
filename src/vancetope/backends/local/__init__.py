"""The local model: its file, and the child process that serves it to the OpenAI-compatible backend."""

from vancetope.backends.local.launcher import Lease, LocalModelDied, acquire, ensure_alive, release, serving
from vancetope.backends.local.pull import PullFailed, pull
from vancetope.backends.local.spawn import Endpoint, Serving
from vancetope.backends.local.weights import (
    DEFAULT,
    KNOWN,
    KnownModel,
    WeightsMissing,
    WeightsRefused,
    cache_dir,
    find,
    installed,
    pulled,
)

__all__ = [
    "DEFAULT",
    "KNOWN",
    "Endpoint",
    "KnownModel",
    "Lease",
    "LocalModelDied",
    "PullFailed",
    "Serving",
    "WeightsMissing",
    "WeightsRefused",
    "acquire",
    "cache_dir",
    "ensure_alive",
    "find",
    "installed",
    "pull",
    "pulled",
    "release",
    "serving",
]
