"""readwarp: sequencing reads to alignments and variants, on NVIDIA GPUs or SIMD CPU cores.

The public names are imported on first use, so that `import readwarp` and `readwarp --help` stay fast.
"""

from typing import TYPE_CHECKING, Any

from readwarp.version import __version__

if TYPE_CHECKING:  # what checkers and editors are to see
    from readwarp.align.aligner import Aligner
    from readwarp.call.caller import Caller
    from readwarp.call.pairhmm.api import pair_hmm
    from readwarp.config import Scoring
    from readwarp.index import Index
    from readwarp.pairwise import pairwise
    from readwarp.ragged import Ragged


_PUBLIC = {
    "Index": "readwarp.index",
    "Aligner": "readwarp.align",
    "Caller": "readwarp.call.caller",
    "pair_hmm": "readwarp.call.pairhmm.api",
    "pairwise": "readwarp.pairwise",
    "Ragged": "readwarp.ragged",
    "Scoring": "readwarp.config",
}
__all__ = ["Aligner", "Caller", "Index", "Ragged", "Scoring", "__version__", "pair_hmm", "pairwise"]


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        from importlib import import_module

        return getattr(import_module(_PUBLIC[name]), name)
    raise AttributeError(f"module 'readwarp' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
