"""Parameters of call and genotype."""

from dataclasses import dataclass
from typing import Any

from readwarp.config.declare import Checked, option
from readwarp.errors import UsageError

MAX_MNP_DISTANCE = 10  # bases
MAX_SV_LENGTH = 1_000_000  # bases
MAX_PLOIDY = 100
MAX_DEPTH = 10_000_000  # per sample: sums of base qualities and PL stay within 31 bits
SHARE: dict[str, Any] = {"least": 0, "most": 1}  # bounds of a fraction
PRIOR: dict[str, Any] = {"least": 0, "most": 1, "is_open": True}  # bounds of a prior probability


CALL_PLATFORMS = ("auto", "short", "hifi", "ont")


@dataclass(frozen=True, slots=True)
class FractionParameters(Checked):
    """Calling of alleles at any fraction of the molecules (`readwarp.somatic`), instead of on whole copies."""

    is_somatic: bool = False  # call mutations of a tumour; else all alleles of a mixture
    normals: tuple[str, ...] = ()  # samples of normal tissue of the tumour's patient
    contamination: float | None = option(None, "fraction of molecules from another person [estimated per sample]")
    mutation_prior: float = option(
        1e-6, "prior probability of a mutation at a base; a tenth of it for insertions and deletions", **PRIOR
    )
    min_probability: float = option(
        0.5,
        "a call passes if it is real with at least this probability, or more if that raises the expected F1",
        **SHARE,
    )
    min_fraction: float = option(0.0, "filter calls with AF < N (low_allele_frac)", **SHARE)
    max_events: int = option(2, "filter calls with more than N mutations within 50 bases (clustered_events)", least=1)
    min_median_quality: float = 20.0  # MBQ of the ALT allele's reads
    min_median_mapping_quality: float = 30.0  # MMQ of the ALT allele's reads
    min_median_distance: float = 1.0  # MPOS

    def __post_init__(self) -> None:
        Checked.__post_init__(self)
        if self.contamination is not None and not 0 <= self.contamination < 1:
            raise UsageError("--contamination must be 0 or more, and less than 1")


@dataclass(frozen=True, slots=True)
class GenomeParameters(Checked):
    """Contents of a consensus genome (`readwarp.somatic.genome`)."""

    consensus_min_depth: int = option(10, "write N where fewer than N reads cover the consensus", least=1)
    consensus_share: float = option(
        0.0,
        "add bases, most frequent first, until they reach this fraction; several give an IUPAC code [0: one]",
        **SHARE,
    )


@dataclass(frozen=True, slots=True)
class CallParameters(Checked):
    """Candidates, genotypes and filters of a call."""

    platform: str = option(
        "auto", "read type: short, hifi or ont [auto: by @RG PL]", choices=CALL_PLATFORMS, metavar="NAME"
    )
    ploidy: int = option(2, "ploidy of the samples", least=1, most=MAX_PLOIDY)
    min_base_quality: int = option(10, "ignore bases with quality < N", least=0)
    min_mapping_quality: int = option(10, "ignore reads with MAPQ < N", least=0)
    max_depth: int = option(
        8000, "use at most N reads per sample at a position, chosen by hashes of their names", least=1, most=MAX_DEPTH
    )
    min_alternate_count: int = option(2, "test alleles in at least N reads of a sample", least=1)
    min_alternate_fraction: float = option(
        0.1, "test substitutions in at least this fraction of a sample's reads", **SHARE
    )
    min_indel_fraction: float = option(
        0.06, "test insertions and deletions in at least this fraction of a sample's reads", **SHARE
    )
    min_alternate_quality: int = option(30, "test substitutions whose base qualities add up to at least N", least=0)
    max_mnp_distance: int = option(
        0, "join phased substitutions up to N bases apart in one record; 0: never", least=0, most=MAX_MNP_DISTANCE
    )
    ignore_soft_clips: bool = option(
        False, "ignore all soft-clipped bases [only clips that match the reference in place]"
    )
    snv_prior: float = option(
        1e-3, "prior probability that a base differs from the reference", keyword="heterozygosity", **PRIOR
    )
    indel_prior: float = option(
        1.25e-4,
        "prior probability that an insertion or deletion starts at a base",
        keyword="indel_heterozygosity",
        **PRIOR,
    )
    # Limits of filters: see `readwarp.call.records.genotypes.filters`.
    min_quality: float = option(2.0, "filter calls with QUAL < N (LowQual)", "--min-qual")
    max_strand_bias: float = option(40.0, "filter substitutions with FS > N (StrandBias)")
    max_indel_strand_bias: float = option(200.0, "filter insertions and deletions with FS > N (StrandBias)")
    min_end_distance: float = option(5.0, "filter calls with ED < N (ReadEnds)")
    min_allele_fraction: float = option(0.3, "filter calls with AD / DP x ploidy < N, if not by chance (LowFraction)")
    min_haploid_fraction: float = option(
        0.6, "filter calls at ploidy 1 with AD / DP < N, if not by chance (LowFraction)"
    )
    max_fraction_misfit: float = option(
        35.0, "for LowFraction, not by chance: the fraction fits the reads 10^(N / 10) times better than the genotype"
    )
    min_alt_mapping_quality: float = option(
        40.0, "filter calls with AMQ < N and too many other reads for the genotype (LowMapping)"
    )
    min_expected_fraction: float = option(
        0.5, "for LowMapping, too many means more than 1 - N x the genotype's ALT share of the depth around"
    )
    fractions: FractionParameters | None = None  # None: genotypes; else candidates are chosen as for `ploidy` copies
    max_region_reads: int = 1000  # compared per region and sample of 1 or 2 copies; proportionally more for more copies


@dataclass(frozen=True, slots=True)
class StructuralParameters(Checked):
    """Structural variants from long reads (`readwarp.structural`). Sizes in bases."""

    min_sv_length: int = option(50, "shortest structural variant, in bases")
    max_sv_length: int = option(100_000, "longest structural variant, in bases")
    # All but one of these reads may instead be clipped at both ends of the event.
    min_sv_support: int = option(2, "minimum supporting reads in a sample", least=1)
    long: int = 1000  # an event that reads may be too short for
    min_span: int = 500  # aligned reference bases; shorter alignments are ignored
    min_part: int = 10  # shorter gaps of a CIGAR are not part of an event
    max_join: int = 100  # between gaps of one read that form one event
    max_apart: int = 500  # between positions of one event in neighbouring reads
    max_excess: float = 0.25  # excess of the longer over the shorter, ...
    max_difference: int = 10  # ... or this many bases
    flank: int = 50  # bases that a read must cover on either side of a breakpoint to count against it
    error: float = 0.03  # fraction of misleading reads: a variant needs a fifth of the reads

    def __post_init__(self) -> None:
        Checked.__post_init__(self)
        if not 20 <= self.min_sv_length <= self.max_sv_length <= MAX_SV_LENGTH:
            raise UsageError(f"--min-sv-length and --max-sv-length must be 20 to {MAX_SV_LENGTH:,}, in ascending order")

    @property
    def least_length(self) -> int:
        """Minimum length of an event in one read, whose errors may shorten it."""
        return self.min_sv_length * 4 // 5


MAX_ALTS = 100  # the alleles of a cohort's site are numbered by a byte


@dataclass(frozen=True, slots=True)
class JointParameters(Checked):
    """Genotyping of a cohort."""

    max_ploidy: int = option(2, "highest ploidy of the samples", keyword="ploidy", least=1, most=MAX_PLOIDY)
    # Alleles are left out until a site has at most 1,000 genotypes.
    max_alts: int = option(
        8, "maximum ALT alleles per site; the rarest are dropped", keyword="max_alleles", least=1, most=MAX_ALTS
    )
