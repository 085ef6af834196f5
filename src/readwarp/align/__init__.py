"""Reads to alignment records: one folder per step, in the order data meets them.

    seed -> chain -> pair (plan) -> extend (score) -> pair (rescue) -> extend (score)
         -> records (choose) -> extend (trace) -> records (build)

`pipeline.align_batch` is that list; `Aligner` is the same for a few reads from Python.
"""

from typing import Any

__all__ = ["Aligner"]


def __getattr__(name: str) -> Any:
    if name == "Aligner":
        from readwarp.align.aligner import Aligner

        return Aligner
    raise AttributeError(f"module 'readwarp.align' has no attribute {name!r}")
