"""What tests of `readwarp.device` share."""

import pytest


@pytest.fixture(scope="session", autouse=True)
def _frees_in_context(frees_in_context):
    """Used by all tests here."""
