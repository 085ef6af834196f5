"""Child processes that import the helpers of tests."""

import os
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent


def environment_with_tests(**variables: str) -> dict[str, str]:
    """The environment of this process with these variables, and the tests' folder on Python's path."""
    whole = {**os.environ, **variables}
    return whole | {"PYTHONPATH": os.pathsep.join(filter(None, [str(TESTS), whole.get("PYTHONPATH")]))}
