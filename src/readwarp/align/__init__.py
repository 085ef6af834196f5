"""Reads to alignment records: one folder per step, in the order data meets them.

    trim -> seed -> chain -> pair (plan) -> extend (score) -> pair (rescue) -> extend (score)
         -> records (choose) -> extend (trace) -> records (build)

`steps.align_batch` is that list; `job` applies it to files; `Aligner` applies it to reads given in Python.
The package is callable: `readwarp.align(reference, *reads, output=..., **options)` is `align.api.align(...)`.
"""

from typing import TYPE_CHECKING

from readwarp.python.callable_package import make_callable

if TYPE_CHECKING:
    from readwarp.align.aligner import Aligner
    from readwarp.align.api import align

__all__ = ["Aligner", "align"]

make_callable(__name__, {"Aligner": "readwarp.align.aligner", "align": "readwarp.align.api"})
