"""Parameters of call and genotype."""

from dataclasses import dataclass

from readwarp.config.limits import MAX_MNP_DISTANCE, MAX_PLOIDY, MAX_SV_LENGTH, check_integers
from readwarp.errors import UsageError

MAX_DEPTH = 10_000_000  # per sample: sums of base qualities and PL stay within 31 bits


CALL_PLATFORMS = ("auto", "short", "hifi", "ont")


@dataclass(frozen=True, slots=True)
class FractionParameters:
    """Calling of alleles at any fraction of the molecules (`readwarp.somatic`), instead of on whole copies."""

    is_somatic: bool = False  # call mutations of a tumour; else all alleles of a mixture
    normals: tuple[str, ...] = ()  # samples of normal tissue of the tumour's patient
    contamination: float | None = None  # fraction of molecules from another person; None: estimated, given a population
    mutation_prior: float = 1e-6  # per substitution at a base
    min_probability: float = 0.5  # probability that a passing call is real
    min_fraction: float = 0.0  # AF in the sample where it is highest
    min_median_quality: float = 20.0  # MBQ of the ALT allele's reads
    min_median_mapping_quality: float = 30.0  # MMQ of the ALT allele's reads
    min_median_distance: float = 1.0  # MPOS
    max_events: int = 2  # ECNT of a tumour

    def __post_init__(self) -> None:
        check_integers(self)
        if not 0 < self.mutation_prior < 1 or self.max_events < 1:
            raise UsageError("--mutation-prior must lie between 0 and 1, --max-events be at least 1")
        if not (0 <= self.min_fraction <= 1 and 0 <= self.min_probability <= 1):
            raise UsageError("--min-fraction and --min-probability must be 0 to 1")
        if self.contamination is not None and not 0 <= self.contamination < 1:
            raise UsageError("--contamination must be 0 or more, and less than 1")


@dataclass(frozen=True, slots=True)
class GenomeParameters:
    """Contents of a consensus genome (`readwarp.somatic.genome`)."""

    consensus_min_depth: int = 10  # reads; positions below become N
    consensus_share: float = 0.0  # fraction that the bases named at a position must reach together; 0: only the first

    def __post_init__(self) -> None:
        check_integers(self)
        if self.consensus_min_depth < 1 or not 0 <= self.consensus_share <= 1:
            raise UsageError("--consensus-min-depth must be at least 1, --consensus-share 0 to 1")


@dataclass(frozen=True, slots=True)
class CallParameters:
    platform: str = "auto"  # type of reads; auto: from the read groups
    ploidy: int = 2
    fractions: FractionParameters | None = None  # None: genotypes; else candidates are chosen as for `ploidy` copies
    min_base_quality: int = 10
    min_mapping_quality: int = 10
    ignore_soft_clips: bool = False
    max_depth: int = 8000
    max_mnp_distance: int = 0  # phased substitutions at most this far apart form one record; 0: never
    max_region_reads: int = 1000  # compared per region and sample of 1 or 2 copies; proportionally more for more copies
    min_alternate_count: int = 2  # reads that make an allele a candidate ...
    min_alternate_fraction: float = 0.1  # ... and their fraction of the reads counted at the site
    min_alternate_quality: int = 30  # sum of their base qualities, below which no call could pass min_quality
    min_indel_fraction: float = 0.06
    snv_prior: float = 1e-3  # heterozygosity
    indel_prior: float = 1.25e-4
    # Limits of filters: see `readwarp.call.records.genotypes.filters`.
    min_quality: float = 2.0  # QUAL
    max_strand_bias: float = 40.0  # FS of substitutions ...
    max_indel_strand_bias: float = 200.0  # ... and of insertions and deletions
    min_end_distance: float = 5.0  # ED
    min_allele_fraction: float = 0.3  # fraction of reads with ALT alleles, times the ploidy ...
    min_haploid_fraction: float = 0.6  # ... and where that is 1, ...
    max_fraction_misfit: float = 35.0  # ... if this is exceeded: Phred of the observed fraction under the genotype's
    min_alt_mapping_quality: float = 40.0  # AMQ, if the reads without ALT alleles exceed ...
    min_expected_fraction: float = 0.5  # ... 1 - this x the genotype's fraction of ALT alleles, of the depth around

    def __post_init__(self) -> None:
        check_integers(self)
        if self.platform not in CALL_PLATFORMS:
            raise UsageError(f"--platform {self.platform}: not one of {', '.join(CALL_PLATFORMS)}")
        if not 1 <= self.ploidy <= MAX_PLOIDY:
            raise UsageError(f"--ploidy must be 1 to {MAX_PLOIDY}")
        if not 0 <= self.max_mnp_distance <= MAX_MNP_DISTANCE:
            raise UsageError(f"--max-mnp-distance must be 0 to {MAX_MNP_DISTANCE}")
        if min(self.min_base_quality, self.min_mapping_quality) < 0 or not 1 <= self.max_depth <= MAX_DEPTH:
            raise UsageError(f"qualities must be at least 0, --max-depth 1 to {MAX_DEPTH:,}")
        if self.min_alternate_count < 1 or self.min_alternate_quality < 0:
            raise UsageError("--min-alternate-count must be at least 1, --min-alternate-quality at least 0")
        if not (0 <= self.min_alternate_fraction <= 1 and 0 <= self.min_indel_fraction <= 1):
            raise UsageError("--min-alternate-fraction and --min-indel-fraction must be 0 to 1")
        if not (0 < self.snv_prior < 1 and 0 < self.indel_prior < 1):
            raise UsageError("--heterozygosity and --indel-heterozygosity must lie between 0 and 1")


@dataclass(frozen=True, slots=True)
class StructuralParameters:
    """Structural variants from long reads (`readwarp.structural`). Sizes in bases."""

    min_sv_length: int = 50  # length of an event
    max_sv_length: int = 100_000
    min_sv_support: int = 2  # reads of a sample that show it; all but one may instead be clipped at both its ends
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
        check_integers(self)
        if not 20 <= self.min_sv_length <= self.max_sv_length <= MAX_SV_LENGTH:
            raise UsageError(f"--min-sv-length and --max-sv-length must be 20 to {MAX_SV_LENGTH:,}, in this order")
        if self.min_sv_support < 1:
            raise UsageError("--min-sv-support must be at least 1")

    @property
    def least_length(self) -> int:
        """Minimum length of an event in one read, whose errors may shorten it."""
        return self.min_sv_length * 4 // 5


MAX_ALTS = 100  # the alleles of a cohort's site are numbered by a byte


@dataclass(frozen=True, slots=True)
class JointParameters:
    max_alts: int = 8  # ALT alleles per site; those in the fewest files are left out
    max_ploidy: int = 2  # of the samples; alleles are left out until a site has at most 1,000 genotypes

    def __post_init__(self) -> None:
        if not 1 <= self.max_alts <= MAX_ALTS:
            raise UsageError(f"--max-alleles must be 1 to {MAX_ALTS}")
        if not 1 <= self.max_ploidy <= MAX_PLOIDY:
            raise UsageError(f"--ploidy must be 1 to {MAX_PLOIDY}")
