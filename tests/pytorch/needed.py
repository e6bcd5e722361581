"""torch, or a skip with its reason: in CI what is missing is a failure."""

import os

import pytest


def module(name, reason):
    """A module that a test needs."""
    try:
        return __import__(name)
    except ImportError:
        if os.environ.get("GRAPHATTN_TORCH") == "required":
            raise
        pytest.skip(reason, allow_module_level=True)


torch = module("torch", "torch is not installed")
