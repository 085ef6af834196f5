"""Whether a job is large enough for a GPU to pay, by arithmetic.

A GPU takes time to start: CUDA is loaded, contexts and pinned memory are made, kernels are loaded, the index is copied.
It saves the share of the work that it does instead of the cores, so it pays if

    bases / (threads * bases per second and thread) * share  >  seconds to start

The figures are those of benchmarks/results/*.csv (two cores) and of metrics.json's stage_seconds; the start is an
estimate until it is measured on a card. The compilation of kernels, once on a machine, is not counted.
"""

from dataclasses import dataclass

START_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Work:
    """How fast a command works."""

    bases_per_second: float  # of one CPU thread
    share: float  # of that time, which goes to the GPU


ALIGN = Work(bases_per_second=10e6, share=0.5)  # 70,000 reads of 150; seed, chain and extend of all stages
CALL = Work(bases_per_second=50e6, share=0.5)  # 300 Mb in 6 s; pileup and PairHMM


def min_bases(work: Work, threads: int) -> int:
    """Read bases from which on a GPU is faster."""
    return int(START_SECONDS * threads * work.bases_per_second / work.share)
