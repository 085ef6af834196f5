"""A whole sample: reads to sorted, duplicate-marked alignments, variants and a report, by the jobs of those packages.

The package is callable: `readwarp.run(reference, *reads, output=..., **options)` is `readwarp.run.api.run(...)`.
"""

from typing import TYPE_CHECKING

from readwarp.python.callable_package import make_callable

if TYPE_CHECKING:
    from readwarp.run.api import run

__all__ = ["run"]

make_callable(__name__, {"run": "readwarp.run.api"})
