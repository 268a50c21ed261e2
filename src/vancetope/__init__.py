"""vancetope: agent turns that end by contract, on any model."""

__version__ = "0.1.0"
