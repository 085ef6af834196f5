"""`python -m readwarp` is the `readwarp` command."""

import sys

from readwarp import stopping


def main() -> int:
    """Run the command of sys.argv -> exit code."""
    stopping.install()  # before anything else is imported, as signals may come at any time
    from readwarp.cli import main as run

    return run()


if __name__ == "__main__":
    sys.exit(main())
