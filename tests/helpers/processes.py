"""Child processes that import the helpers of tests."""

import os
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent


def environment_with_tests(**variables: str) -> dict[str, str]:
    """The environment of this process with these variables, and the tests' folder on Python's path."""
    path = os.pathsep.join(filter(None, [str(TESTS), os.environ.get("PYTHONPATH")]))
    return {**os.environ, **variables, "PYTHONPATH": path}
