"""Child processes that import what tests share."""

import os
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent


def environment_with_tests(**variables: str) -> dict[str, str]:
    """The environment of this process and these variables, with the tests' folder on Python's path."""
    path = os.pathsep.join(filter(None, [str(TESTS), os.environ.get("PYTHONPATH")]))
    return {**os.environ, **variables, "PYTHONPATH": path}
