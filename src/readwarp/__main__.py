"""`python -m readwarp` is the `readwarp` command."""

import sys
from contextlib import suppress

from readwarp.system import stopping


def main() -> int:
    """Run the command of sys.argv and return its exit code."""
    stopping.install()  # before any other import, because signals may come at any time
    import tempfile

    with stopping.held_back(), suppress(OSError):
        tempfile.gettempdir()  # it tests the folder with a file, which a stop would leave there
    from readwarp.cli import main as run

    return run()


if __name__ == "__main__":
    sys.exit(main())
