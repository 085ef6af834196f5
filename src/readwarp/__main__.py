"""`python -m readwarp` is the `readwarp` command."""

import sys

from readwarp.cli import main

sys.exit(main())
