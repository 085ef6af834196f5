"""readwarp: sequencing reads to alignments and variants, on NVIDIA GPUs or SIMD CPU cores.

    readwarp.align(reference, *reads, output=...)           the commands: files to files
    readwarp.call(reference, alignments, output=...)
    readwarp.run(reference, *reads, output=...)
    readwarp.genotype(reference, *gvcfs, output=...)
    readwarp.panel(*normals, output=...)
    readwarp.index(reference), merge(*alignments, output=...), report(*folders)
    readwarp.consensus(alignments, output=...)
    readwarp.Aligner, Caller, pairwise, pair_hmm            the same on objects and arrays
    readwarp.errors, config                                 exceptions and parameters

Public names are imported on first use, so that `import readwarp` and `readwarp --help` stay fast.
"""

from typing import TYPE_CHECKING, Any

from readwarp.version import __version__

if TYPE_CHECKING:  # for type checkers and editors
    from readwarp import config as config
    from readwarp import errors as errors
    from readwarp.align.aligner import Aligner as Aligner
    from readwarp.align.api import align as align
    from readwarp.align.merge_api import merge as merge
    from readwarp.align.results import Record as Record
    from readwarp.align.results import Records as Records
    from readwarp.call.likelihoods.pairhmm.api import pair_hmm as pair_hmm
    from readwarp.caller.api import call as call
    from readwarp.caller.caller import Caller as Caller
    from readwarp.caller.results import Genotype as Genotype
    from readwarp.caller.results import Variant as Variant
    from readwarp.caller.results import Variants as Variants
    from readwarp.cohort.api import genotype as genotype
    from readwarp.config import Scoring as Scoring
    from readwarp.index import Index as Index
    from readwarp.index.api import index as index
    from readwarp.molecules.api import consensus as consensus
    from readwarp.pairwise.api import MatrixScoring as MatrixScoring
    from readwarp.pairwise.api import pairwise as pairwise
    from readwarp.ragged import Ragged as Ragged
    from readwarp.report.api import report as report
    from readwarp.run.api import run as run
    from readwarp.somatic.panel.api import panel as panel
    from readwarp.stream.reporter import Progress as Progress
    from readwarp.stream.reporter import Result as Result


_CALLABLE_PACKAGES = ("align", "call", "index", "pairwise", "report", "run")
_MODULES = ("config", "errors")
_PUBLIC = {
    "Aligner": "readwarp.align.aligner",
    "Caller": "readwarp.caller.caller",
    "Genotype": "readwarp.caller.results",
    "Index": "readwarp.index",
    "MatrixScoring": "readwarp.pairwise.api",
    "Progress": "readwarp.stream.reporter",
    "Ragged": "readwarp.ragged",
    "Record": "readwarp.align.results",
    "Records": "readwarp.align.results",
    "Result": "readwarp.stream.reporter",
    "Scoring": "readwarp.config",
    "Variant": "readwarp.caller.results",
    "Variants": "readwarp.caller.results",
    "consensus": "readwarp.molecules.api",
    "genotype": "readwarp.cohort.api",
    "merge": "readwarp.align.merge_api",
    "pair_hmm": "readwarp.call.likelihoods.pairhmm.api",
    "panel": "readwarp.somatic.panel.api",
}
__all__ = ["__version__", *_CALLABLE_PACKAGES, *_PUBLIC]


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in (*_CALLABLE_PACKAGES, *_MODULES):
        return import_module(f"readwarp.{name}")
    if name in _PUBLIC:
        from readwarp.python.callable_package import documented

        return documented(getattr(import_module(_PUBLIC[name]), name))
    raise AttributeError(f"module 'readwarp' has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return the public names, for tab completion, and those that Python itself needs."""
    return sorted({*__all__, *_MODULES, *(name for name in globals() if name.startswith("__"))})
