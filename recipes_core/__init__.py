"""Resolve, size and check vLLM serving recipes."""

__version__ = "0.1.0"
