"""Parameters of consensus."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from readwarp.config.align import MAX_QUALITY
from readwarp.config.declare import Checked, option
from readwarp.errors import UsageError

QUALITY: dict[str, Any] = {"metavar": "Q", "least": 0, "most": MAX_QUALITY}
ERROR: dict[str, Any] = {"metavar": "Q", "least": 1, "most": MAX_QUALITY}
SHARE: dict[str, Any] = {"metavar": "X", "least": 0, "most": 1}


@dataclass(frozen=True, slots=True)
class ConsensusParameters(Checked):
    """Consensus reads of molecules, with fgbio's option names where it has them."""

    duplex: bool = option(False, "join both strands of a molecule (MI ends in /A and /B)")
    min_reads: int | Sequence[int] = option(
        (1,),
        "minimum reads per molecule; with --duplex TOTAL,LARGER,SMALLER of both strands and of each [1]",
        kind="whole numbers",
        metavar="N",
    )
    max_reads: int | None = option(
        None,
        "use at most N reads per strand, chosen by hashes of their names [all]",
        "--max-reads-per-strand",
        kind="count",
    )
    min_input_base_quality: int = option(10, "ignore input bases with quality < Q", **QUALITY)
    error_rate_pre_umi: int = option(45, "Phred-scaled error rate before the UMI was attached", **ERROR)
    error_rate_post_umi: int = option(40, "Phred-scaled error rate between attaching the UMI and sequencing", **ERROR)
    overlapping: bool = option(
        True, "first reconcile the bases that both mates cover [yes]", keyword="consensus_call_overlapping_bases"
    )
    min_consensus_base_quality: int = option(2, "mask (N) bases with quality < Q", **QUALITY)
    max_read_error_rate: float = option(
        1.0, "drop reads if more than this fraction of their bases differs from the consensus", **SHARE
    )
    max_base_error_rate: float = option(
        1.0, "mask bases (N) on which more than this fraction of the reads differs", **SHARE
    )
    max_no_calls: float = option(1.0, "drop reads with more than this fraction of N", **SHARE)
    strand_agreement: bool = option(
        False, "mask (N) bases on which the strands differ (--duplex)", keyword="require_single_strand_agreement"
    )

    def __post_init__(self) -> None:
        Checked.__post_init__(self)
        if not 1 <= len(self.fewest) <= (3 if self.duplex else 1):
            raise UsageError("--min-reads takes one number, or up to three with --duplex: TOTAL,LARGER,SMALLER")
        if list(self.fewest) != sorted(self.fewest, reverse=True) or self.fewest[0] < 1 or self.limits[2] < 0:
            raise UsageError("--min-reads: values must be at least 1 and must not increase")
        if self.max_reads is not None and self.max_reads < self.limits[1]:
            raise UsageError("--max-reads must be at least --min-reads")

    @property
    def fewest(self) -> tuple[int, ...]:
        """`min_reads` as a tuple."""
        return (self.min_reads,) if isinstance(self.min_reads, int) else tuple(self.min_reads)

    @property
    def limits(self) -> tuple[int, int, int]:
        """Fewest reads of a molecule, of its larger and of its smaller strand."""
        total, larger, smaller = (*self.fewest, *[self.fewest[-1]] * 2)[:3]
        return (total, larger, smaller) if self.duplex else (total, total, 0)
