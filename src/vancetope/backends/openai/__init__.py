"""Any server that speaks OpenAI's chat completions: OpenAI itself, Ollama, llama.cpp, vLLM, the local model."""

from vancetope.backends.openai.client import OpenAICompatible
from vancetope.backends.openai.failures import QuotaSpent
from vancetope.backends.openai.mask import mask, masked
from vancetope.backends.openai.profiles import PROFILES, Profile

__all__ = ["PROFILES", "OpenAICompatible", "Profile", "QuotaSpent", "mask", "masked"]
