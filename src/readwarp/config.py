"""Parameters of each step, frozen, and checked when they are made. Units: bases, scores, Phred."""

from dataclasses import dataclass, field, fields
from typing import Any

from readwarp.errors import UsageError

MAX_MNP_DISTANCE = 10  # bases
MAX_SV_LENGTH = 1_000_000  # bases
MAX_PLOIDY = 100
MAX_PLACES = 72  # of a read: chains, and windows in which its mate was looked for
MAX_READ_LENGTH = 4096  # of mates; longer ones come out unmapped, counted as too_long
MAX_LONG_READ_LENGTH = 1 << 24  # of single reads: anchors have 24 bits for the place on the read
MAX_SCORE = 10_000  # of a match, a mismatch, a gap: then scores of whole reads, times a fixed point, have 31 bits
MAX_INTEGER = (1 << 31) - 1  # kernels compare with numbers of 32 bits


def check_integers(parameters: Any) -> None:
    """Raises UsageError for a field with a whole number beyond 32 bits."""
    for each in fields(parameters):
        value = getattr(parameters, each.name)
        if isinstance(value, int) and abs(value) > MAX_INTEGER:
            raise UsageError(f"--{each.name.replace('_', '-')} {value}: {MAX_INTEGER:,} at most")


@dataclass(frozen=True, slots=True)
class Scoring:
    """Affine-gap scores of bwa mem: a gap of n bases costs gap_open + n * gap_extend. All are magnitudes."""

    match: int = 1
    mismatch: int = 4
    gap_open: int = 6
    gap_extend: int = 1
    end_bonus: int = 5  # for each read end that is aligned instead of clipped

    def __post_init__(self) -> None:
        if self.match < 1 or min(self.mismatch, self.gap_open, self.end_bonus) < 0 or self.gap_extend < 1:
            raise UsageError("scores must be positive: match and gap extension at least 1, the others at least 0")
        if max(self.match, self.mismatch, self.gap_open, self.gap_extend, self.end_bonus) > MAX_SCORE:
            raise UsageError(f"scores must be at most {MAX_SCORE:,}")


@dataclass(frozen=True, slots=True)
class SeedParameters:
    """Open syncmers (Edgar 2021; Sahlin 2022): a k-mer whose smallest s-mer lies at offset t.

    k, s and t belong to the index, the rest to the look-up.
    """

    k: int = 20
    s: int = 16
    t: int = 2
    max_hits: int = 64  # more frequent seeds are left out at first; ...
    rescue_hits: int = 1024  # ... for reads without a hit, this is the limit
    max_anchors: int = 2048  # per read; the most frequent seeds are left out to stay within it
    margin: int = 20  # matches by which places must be worse that are not looked for; MAX_INTEGER: all are

    def __post_init__(self) -> None:
        if not 0 < self.s < self.k <= 31 or 2 * self.t != self.k - self.s:
            raise UsageError("seeds need 0 < s < k <= 31 and t = (k - s) / 2")


@dataclass(frozen=True, slots=True)
class LongSeedParameters:
    """Which syncmers of a long read are looked up, and which are used. Sizes in bases."""

    sampling_bits: int = 2  # a quarter of the syncmers
    max_hits: int = 50  # more frequent seeds are used only ...
    stretch: int = 512  # ... where a stretch of the read has none that is less frequent; ...
    rescue_hits: int = 1024  # ... and then up to this


@dataclass(frozen=True, slots=True)
class LongChainParameters:
    max_gap: int = 20_000  # difference of the diagonals of neighbouring anchors
    max_step: int = 5000  # bases between neighbouring anchors, on the read or on the reference
    min_score: int = 40
    min_anchors: int = 3


@dataclass(frozen=True, slots=True)
class LongExtendParameters:
    """Which chains of a long read are extended, where their alignments break, and how far their ends go."""

    min_ratio: float = 0.8  # of the score of the best chain for the same part of the read
    max_rivals: int = 4  # other chains for the same part of the read
    max_drop: int = 400  # an alignment breaks where what lies between two anchors scores below minus this
    band: int = 100  # of the ends, beyond the chain: bases that gaps may add up to
    drop: int = 200  # score below the best one at which an end is clipped
    long_gap_open: int = 200  # a gap costs the least of the two lines, of `Scoring` and of these, ...
    long_gap_extend: int = 0
    max_gap_cost: int = 200  # ... and this, however long it is


@dataclass(frozen=True, slots=True)
class LongParameters:
    """How single reads of at least `min_length` bases are aligned."""

    min_length: int = MAX_READ_LENGTH + 1
    seed: LongSeedParameters = field(default_factory=LongSeedParameters)
    chain: LongChainParameters = field(default_factory=LongChainParameters)
    extend: LongExtendParameters = field(default_factory=LongExtendParameters)


@dataclass(frozen=True, slots=True)
class ChainParameters:
    max_gap: int = 100  # difference of the diagonals of neighbouring anchors
    max_chains: int = 64  # per read
    drop: float = 0.4  # chains below this share of the read's best score are left out


@dataclass(frozen=True, slots=True)
class PairParameters:
    max_candidates: int = 24  # chains extended per read
    window_padding: int = 32  # bases of reference on either side of a chain's diagonal span
    max_rescues: int = 8  # rescue windows per mate
    training_pairs: int = 16384  # first pairs of each input, from which the insert-size model is estimated
    deviations: float = 4.0  # half the width of the proper-pair interval, in standard deviations
    unpaired_penalty: int = 17  # bwa's -U
    rescue: bool = True  # look for mates near each other; not with bwa's -S
    pairing: bool = True  # place mates together; not with bwa's -P

    def __post_init__(self) -> None:
        check_integers(self)


CS_FORMS = ("none", "short", "long")


@dataclass(frozen=True, slots=True)
class RecordParameters:
    min_score: int = 30  # bwa's -T; reads shorter than 60 bases need half their length
    min_mate_bases: int = 19  # matches that place a read near its mate, whatever min_score says (bwa's seed length)
    max_secondary: int = 5  # hits named in XA (bwa's -h), or ...
    secondary_ratio: float = 0.8
    secondary_records: bool = False  # ... the best ones, written as records
    five_prime_primary: bool = False  # of a split read, the part that was sequenced first is primary (bwa's -5)
    splits_as_secondary: bool = False  # the other parts are secondary, not supplementary (bwa's -M)
    soft_clip_supplementary: bool = False  # -Y
    eqx: bool = False
    cs: str = "none"  # the tag cs of minimap2: short has numbers of equal bases, long has their letters

    def __post_init__(self) -> None:
        if self.cs not in CS_FORMS:
            raise UsageError(f"--cs {self.cs}: not one of {', '.join(CS_FORMS)}")
        check_integers(self)


POLY_G = ("auto", "always", "never")
MAX_QUALITY = 93  # Phred, as SAM writes it


@dataclass(frozen=True, slots=True)
class TrimParameters:
    """What is cut off the 3' ends of reads before they are aligned: see `readwarp.align.trim`."""

    adapters: tuple[str, ...] = ()  # of first and of single reads, IUPAC; none: the known ones
    last_adapters: tuple[str, ...] = ()  # of last reads, likewise
    poly_g: str = "auto"  # auto: reads of instruments that read G where there is no signal
    min_quality: int = 0  # Phred; ends below it are cut off, 0: none are
    min_length: int = 20  # reads that become shorter are not aligned; they are kept as unmapped
    drop: bool = False  # the bases that are cut off, instead of keeping them as soft clips
    correct: bool = False  # bases that are certain in one mate only

    def __post_init__(self) -> None:
        if self.poly_g not in POLY_G:
            raise UsageError(f"--trim-poly-g {self.poly_g}: not one of {', '.join(POLY_G)}")
        if not 0 <= self.min_quality <= MAX_QUALITY:
            raise UsageError(f"--trim-quality must be 0 to {MAX_QUALITY}")
        if not 0 <= self.min_length <= MAX_INTEGER:
            raise UsageError(f"--trim-min-length must be 0 to {MAX_INTEGER:,}")


@dataclass(frozen=True, slots=True)
class AlignParameters:
    seed: SeedParameters = field(default_factory=SeedParameters)
    scoring: Scoring = field(default_factory=Scoring)
    chain: ChainParameters = field(default_factory=ChainParameters)
    pair: PairParameters = field(default_factory=PairParameters)
    records: RecordParameters = field(default_factory=RecordParameters)
    long: LongParameters = field(default_factory=LongParameters)
    trim: TrimParameters | None = None  # None: reads are aligned as they are

    @property
    def longest_single(self) -> int:
        """Bases of the longest single read that is aligned: scores have 31 bits."""
        scoring = self.scoring
        largest = max(scoring.match, scoring.mismatch, scoring.gap_open, scoring.gap_extend, scoring.end_bonus)
        return min(MAX_LONG_READ_LENGTH, MAX_INTEGER // (2 * largest))


@dataclass(frozen=True, slots=True)
class Preset:
    """Seeds, scores and limits for one kind of reads."""

    reads: str
    parameters: AlignParameters
    platform: str | None = "short"  # of CALL_PLATFORMS; None: no reads to call variants from
    instrument: str | None = None  # PL of the read groups, "" for none; None: as names of reads say


LONG = LongParameters(min_length=500)  # shorter single reads have few seeds, and are compared base by base
# Matches count twice.
NANOPORE = LongParameters(
    min_length=500, extend=LongExtendParameters(drop=400, long_gap_open=24, long_gap_extend=1, max_gap_cost=400)
)
PRESETS = {  # see docs/methods/seed.md
    "standard": Preset("reads of 75 bases and more", AlignParameters()),
    "short": Preset("shorter reads", AlignParameters(SeedParameters(k=16, s=14, t=1))),  # 1 k-mer in 3, not in 5
    "hifi": Preset("PacBio HiFi", AlignParameters(long=LONG), "hifi", "PACBIO"),
    "ont": Preset("nanopore", AlignParameters(scoring=Scoring(2, 4, 4, 2, 10), long=NANOPORE), "ont", "ONT"),
    "asm": Preset("contigs of an assembly", AlignParameters(scoring=Scoring(1, 9, 16, 1, 5), long=LONG), None, ""),
    "auto": Preset("short and long reads in one file", AlignParameters(long=LONG), None),
}
CALLED_PRESETS = {name: preset for name, preset in PRESETS.items() if preset.platform}


MAX_DEPTH = 10_000_000  # of a sample: sums of base qualities and PL stay within 31 bits


CALL_PLATFORMS = ("auto", "short", "hifi", "ont")


@dataclass(frozen=True, slots=True)
class CallParameters:
    platform: str = "auto"  # kind of reads; auto: as the read groups say
    ploidy: int = 2
    min_base_quality: int = 10
    min_mapping_quality: int = 10
    ignore_soft_clips: bool = False
    max_depth: int = 8000
    max_mnp_distance: int = 0  # phased substitutions that are as near are one record; 0: never
    max_region_reads: int = 1000  # of a sample of 1 or 2 copies, compared in one region; in proportion of more copies
    min_alternate_count: int = 2  # reads that make an allele a candidate ...
    min_alternate_fraction: float = 0.1  # ... and their share of the reads counted at the site
    min_alternate_quality: int = 30  # sum of their base qualities, below which no call could pass min_quality
    min_indel_fraction: float = 0.06
    snv_prior: float = 1e-3  # heterozygosity
    indel_prior: float = 1.25e-4
    # Limits of filters: see `readwarp.call.genotypes.filters`.
    min_quality: float = 2.0  # QUAL
    max_strand_bias: float = 40.0  # FS of substitutions ...
    max_indel_strand_bias: float = 200.0  # ... and of insertions and deletions
    min_end_distance: float = 5.0  # ED
    min_allele_fraction: float = 0.3  # share of the ALT alleles' reads, times the ploidy ...
    min_haploid_fraction: float = 0.6  # ... and where that is 1, ...
    max_fraction_misfit: float = 35.0  # ... if this is exceeded: Phred of the share seen against the genotype's
    min_alt_mapping_quality: float = 40.0  # AMQ, if the reads without ALT alleles are more than ...
    min_expected_fraction: float = 0.5  # ... 1 - this x the genotype's share of ALT alleles, of the depth around

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
    """Structural variants from long reads (`readwarp.call.structural`). Sizes in bases."""

    min_sv_length: int = 50  # of an event
    max_sv_length: int = 100_000
    min_sv_support: int = 2  # reads of a sample that show it or, but for one, are clipped at both its ends
    long: int = 1000  # an event that reads may be too short for
    min_span: int = 500  # aligned reference bases, below which an alignment says nothing
    min_part: int = 10  # shorter gaps of a CIGAR are no part of an event
    max_join: int = 100  # between gaps of one read that are one event
    max_apart: int = 500  # between neighbouring reads' places of one event
    max_excess: float = 0.25  # of the longer one over the shorter, ...
    max_difference: int = 10  # ... or so many bases
    flank: int = 50  # that a read covers on either side of a breakpoint to say that it is not there
    error: float = 0.03  # share of reads that say the wrong thing: a variant needs a fifth of the reads

    def __post_init__(self) -> None:
        check_integers(self)
        if not 20 <= self.min_sv_length <= self.max_sv_length <= MAX_SV_LENGTH:
            raise UsageError(f"--min-sv-length and --max-sv-length must be 20 to {MAX_SV_LENGTH:,}, in this order")
        if self.min_sv_support < 1:
            raise UsageError("--min-sv-support must be at least 1")

    @property
    def least_length(self) -> int:
        """Of an event in one read, whose errors may shorten it."""
        return self.min_sv_length * 4 // 5


MAX_ALTS = 100  # a byte numbers the alleles of a cohort's site


@dataclass(frozen=True, slots=True)
class JointParameters:
    max_alts: int = 8  # ALT alleles of a site; those in the fewest files are left out
    max_ploidy: int = 2  # of the samples; alleles are left out until a site has at most 1,000 genotypes

    def __post_init__(self) -> None:
        if not 1 <= self.max_alts <= MAX_ALTS:
            raise UsageError(f"--max-alleles must be 1 to {MAX_ALTS}")
        if not 1 <= self.max_ploidy <= MAX_PLOIDY:
            raise UsageError(f"--ploidy must be 1 to {MAX_PLOIDY}")


MAX_QUALITY = 93  # of a base, as FASTQ can write it


@dataclass(frozen=True, slots=True)
class ConsensusParameters:
    """Of the consensus reads of molecules, under the names of fgbio's options where it has them."""

    min_reads: tuple[int, ...] = (1,)  # of a family; of duplexes: in all, of the larger strand, of the smaller strand
    max_reads: int | None = None  # of a strand's family; which ones is decided by hashes of names
    min_input_base_quality: int = 10  # bases of lower quality say nothing
    error_rate_pre_umi: int = 45  # Phred, of a molecule's base before it had its UMI
    error_rate_post_umi: int = 40  # Phred, of a copy's base after that and before it was sequenced
    min_consensus_base_quality: int = 2  # bases of lower quality become N
    overlapping: bool = True  # mates agree on the bases that both have read, before anything else
    duplex: bool = False  # both strands of a molecule to one read
    strand_agreement: bool = False  # of duplexes: bases on which the strands differ become N
    max_read_error_rate: float = 1.0  # share of the bases that differ from the consensus; reads with more are left out
    max_base_error_rate: float = 1.0  # likewise of a base; bases with more become N
    max_no_calls: float = 1.0  # share of N; reads with more are left out

    def __post_init__(self) -> None:
        check_integers(self)
        if not 1 <= len(self.min_reads) <= (3 if self.duplex else 1):
            raise UsageError("--min-reads takes one number, or up to three with --duplex: TOTAL,LARGER,SMALLER")
        if list(self.min_reads) != sorted(self.min_reads, reverse=True) or self.min_reads[0] < 1 or self.limits[2] < 0:
            raise UsageError("--min-reads must be 1 or more, and its further numbers no larger than those before them")
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
        if self.strand_agreement and not self.duplex:
            raise UsageError("--require-single-strand-agreement needs --duplex")

    @property
    def limits(self) -> tuple[int, int, int]:
        """Fewest reads of a molecule, of its larger and of its smaller strand."""
        total, larger, smaller = (*self.min_reads, *[self.min_reads[-1]] * 2)[:3]
        return (total, larger, smaller) if self.duplex else (total, total, 0)


MAX_BATCH = 1 << 30  # bases: numbers of reads and of bases in a batch have 31 bits


@dataclass(frozen=True, slots=True)
class Resources:
    """What a run may use. Budgets are in bytes; None: what is free, minus a margin."""

    threads: int = 1
    device: str = "cpu"  # auto | cpu | cuda | cuda:0,1
    memory: int | None = None
    vram: int | None = None
    batch_bases: int | None = None

    def __post_init__(self) -> None:
        if self.threads < 1:
            raise UsageError("--threads must be at least 1")
        if self.batch_bases is not None and not 1 <= self.batch_bases <= MAX_BATCH:
            raise UsageError(f"--batch-bases must be 1 to {MAX_BATCH:,}")
