"""Parameters of consensus."""

from dataclasses import dataclass

from readwarp.config.limits import MAX_QUALITY, check_integers
from readwarp.errors import UsageError


@dataclass(frozen=True, slots=True)
class ConsensusParameters:
    """Consensus reads of molecules, with fgbio's option names where it has them."""

    min_reads: tuple[int, ...] = (1,)  # of a family; for duplexes: in total, of the larger and the smaller strand
    max_reads: int | None = None  # per strand of a family, chosen by hashes of names
    min_input_base_quality: int = 10  # bases of lower quality are ignored
    error_rate_pre_umi: int = 45  # Phred, per base of a molecule before it got its UMI
    error_rate_post_umi: int = 40  # Phred, per base of a copy after that and before sequencing
    min_consensus_base_quality: int = 2  # bases of lower quality become N
    overlapping: bool = True  # first let mates agree on the bases that both have read
    duplex: bool = False  # join both strands of a molecule into one read
    strand_agreement: bool = False  # for duplexes: bases on which the strands differ become N
    max_read_error_rate: float = 1.0  # fraction of bases that differ from the consensus; reads with more are left out
    max_base_error_rate: float = 1.0  # the same for one base; bases with more become N
    max_no_calls: float = 1.0  # fraction of N; reads with more are left out

    def __post_init__(self) -> None:
        check_integers(self)
        if not 1 <= len(self.min_reads) <= (3 if self.duplex else 1):
            raise UsageError("--min-reads takes one number, or up to three with --duplex: TOTAL,LARGER,SMALLER")
        if list(self.min_reads) != sorted(self.min_reads, reverse=True) or self.min_reads[0] < 1 or self.limits[2] < 0:
            raise UsageError("--min-reads: values must be at least 1 and must not increase")
        if self.max_reads is not None and self.max_reads < self.limits[0 if not self.duplex else 1]:
            raise UsageError("--max-reads must be at least --min-reads")
        for name in ("error_rate_pre_umi", "error_rate_post_umi"):
            if not 1 <= getattr(self, name) <= MAX_QUALITY:
                raise UsageError(f"--{name.replace('_', '-')} must be 1 to {MAX_QUALITY}")
        for name in ("min_input_base_quality", "min_consensus_base_quality"):
            if not 0 <= getattr(self, name) <= MAX_QUALITY:
                raise UsageError(f"--{name.replace('_', '-')} must be 0 to {MAX_QUALITY}")
        for name in ("max_read_error_rate", "max_base_error_rate", "max_no_calls"):
            if not 0 <= getattr(self, name) <= 1:
                raise UsageError(f"--{name.replace('_', '-')} must be 0 to 1")

    @property
    def limits(self) -> tuple[int, int, int]:
        """Fewest reads of a molecule, of its larger and of its smaller strand."""
        total, larger, smaller = (*self.min_reads, *[self.min_reads[-1]] * 2)[:3]
        return (total, larger, smaller) if self.duplex else (total, total, 0)
