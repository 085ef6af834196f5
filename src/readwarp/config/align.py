"""Parameters of the steps of align."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from readwarp.config.declare import MAX_INTEGER, Checked, option
from readwarp.errors import UsageError

MAX_PLACES = 72  # per read: chains, and windows searched for its mate
MAX_READ_LENGTH = 4096  # of mates; longer ones come out unmapped, counted as too_long
MAX_LONG_READ_LENGTH = 1 << 24  # of single reads: anchors have 24 bits for the position on the read
MAX_SCORE = 10_000  # of a match, a mismatch or a gap: scores of whole reads, in fixed point, then fit 31 bits
MAX_QUALITY = 93  # Phred, the maximum in SAM


@dataclass(frozen=True, slots=True)
class Scoring(Checked):
    """Affine-gap scores of bwa mem, all as magnitudes: a gap of n bases costs gap_open + n * gap_extend.

    N, in a read or in the reference, costs 1 at most.
    """

    match: int = option(1, "score of a match", "-A", least=1, most=MAX_SCORE)
    mismatch: int = option(4, "penalty for a mismatch", "-B", least=0, most=MAX_SCORE)
    gap_open: int = option(6, "penalty for opening a gap", "-O", least=0, most=MAX_SCORE)
    gap_extend: int = option(1, "penalty for extending a gap by a base", "-E", least=1, most=MAX_SCORE)
    end_bonus: int = option(  # -L is --targets everywhere
        5, "penalty for clipping a read end", keyword="clip", least=0, most=MAX_SCORE
    )


@dataclass(frozen=True, slots=True)
class SeedParameters:
    """Open syncmers (Edgar 2021; Sahlin 2022): a k-mer whose smallest s-mer lies at offset t.

    k, s and t belong to the index, the others to the look-up.
    """

    k: int = 20
    s: int = 16
    t: int = 2
    max_hits: int = 64  # more frequent seeds are left out at first; ...
    rescue_hits: int = 1024  # ... but used up to this limit for reads without a hit
    max_anchors: int = 2048  # per read; the most frequent seeds are left out to stay within it
    margin: int = 20  # matches by which unsearched places must be worse; MAX_INTEGER: all places are searched

    def __post_init__(self) -> None:
        if not 0 < self.s < self.k <= 31 or 2 * self.t != self.k - self.s:
            raise UsageError("seeds need 0 < s < k <= 31 and t = (k - s) / 2")


@dataclass(frozen=True, slots=True)
class LongSeedParameters:
    """Syncmers of a long read to look up and to use. Sizes in bases."""

    sampling_bits: int = 2  # 2: a quarter of the syncmers
    max_hits: int = 50  # more frequent seeds are used only ...
    stretch: int = 512  # ... where a stretch of the read has no rarer one, ...
    rescue_hits: int = 1024  # ... and then up to this limit


@dataclass(frozen=True, slots=True)
class LongChainParameters:
    """Chains of a long read."""

    max_gap: int = 20_000  # between the diagonals of neighbouring anchors
    max_step: int = 5000  # bases between neighbouring anchors, on the read or on the reference
    min_score: int = 40
    min_anchors: int = 2


@dataclass(frozen=True, slots=True)
class LongExtendParameters:
    """Extension of long reads: which chains, where alignments break, and how far ends go."""

    min_ratio: float = 0.8  # of the score of the best chain for the same part of the read
    max_rivals: int = 4  # other chains for the same part of the read
    max_drop: int = 400  # an alignment breaks where a piece between two anchors scores below minus this
    band: int = 100  # of the ends, beyond the chain: maximum sum of gap bases
    drop: int = 200  # loss from the best score at which an end is clipped
    long_gap_open: int = 200  # a gap costs the least of the two lines, of `Scoring` and these, ...
    long_gap_extend: int = 0
    max_gap_cost: int = 200  # ... and this, whatever its length


@dataclass(frozen=True, slots=True)
class LongParameters:
    """Alignment of single reads of at least `min_length` bases."""

    min_length: int = MAX_READ_LENGTH + 1
    seed: LongSeedParameters = field(default_factory=LongSeedParameters)
    chain: LongChainParameters = field(default_factory=LongChainParameters)
    extend: LongExtendParameters = field(default_factory=LongExtendParameters)


@dataclass(frozen=True, slots=True)
class ChainParameters:
    """Chains of a short read."""

    max_gap: int = 100  # between the diagonals of neighbouring anchors
    max_chains: int = 64  # per read
    drop: float = 0.4  # chains below this fraction of the read's best score are left out


@dataclass(frozen=True, slots=True)
class PairParameters(Checked):
    """Places of mates, and the insert sizes that make a pair proper."""

    max_candidates: int = 24  # chains extended per read
    window_padding: int = 32  # reference bases on either side of a chain's diagonal span
    max_rescues: int = 8  # rescue windows per mate
    training_pairs: int = 16384  # first pairs of each input, to which the insert-size model is fitted
    deviations: float = 4.0  # half the width of the proper-pair interval, in standard deviations
    unpaired_penalty: int = 17  # bwa's -U
    rescue: bool = option(True, "skip mate rescue", "-S", keyword="no_rescue")  # off with bwa's -S
    pairing: bool = option(True, "skip pairing: no pair is proper", "-P", keyword="no_pairing")


CS_FORMS = ("none", "short", "long")


@dataclass(frozen=True, slots=True)
class RecordParameters(Checked):
    """Choice and form of the records of a read."""

    # Reads below 60 bases need half their length.
    min_score: int = option(30, "leave reads with a lower score unmapped")
    min_mate_bases: int = 19  # matches that place a read near its mate, whatever min_score is (bwa's seed length)
    soft_clip_supplementary: bool = option(
        False, "soft-clip supplementary alignments, not hard-clip", "-Y", keyword="soft_clip"
    )
    eqx: bool = option(False, "write = and X in CIGARs, not M")
    cs: str = option("none", "write minimap2's cs tag in its short or long form [none]", choices=CS_FORMS)
    secondary_records: bool = option(  # or XA, if there are at most max_secondary
        False, "write all hits of a read, as secondary records instead of XA", "-a", keyword="all_hits"
    )
    max_secondary: int = option(
        5,
        "at most N secondary records per read, with 0.8 of the best score or more",
        keyword="secondary",
        kind="secondary",
        least=0,
        most=MAX_PLACES,
        is_own=True,
    )
    secondary_ratio: float = 0.8
    splits_as_secondary: bool = option(
        False, "mark split alignments as secondary, not supplementary", "-M", keyword="split_secondary"
    )
    five_prime_primary: bool = option(
        False, "take the 5' part of a split read as primary, not the best one (Hi-C: -5SP)", "-5", keyword="five_prime"
    )


POLY_G = ("auto", "always", "never")
TRIMMED_BASES = ("clip", "drop")


@dataclass(frozen=True, slots=True)
class TrimParameters(Checked):
    """Trimming of 3' ends before alignment: see `readwarp.align.trim`."""

    adapters: tuple[str, ...] = ()  # of first and single reads, IUPAC; empty: the known ones
    last_adapters: tuple[str, ...] = ()  # of last reads, IUPAC; empty: the known ones
    poly_g: str = option(
        "auto",
        "trim poly-G tails; auto: of two-colour instruments, by read names (NovaSeq, NextSeq, ...)",
        keyword="trim_poly_g",
        choices=POLY_G,
    )
    min_quality: int = option(
        0,
        "also trim 3' ends with quality below N, as `cutadapt -q` [off]",
        keyword="trim_quality",
        least=0,
        most=MAX_QUALITY,
    )
    min_length: int = option(
        20, "leave reads trimmed to fewer than N bases unmapped", keyword="trim_min_length", least=0, most=MAX_INTEGER
    )
    bases: str = option(
        "clip", "soft-clip the trimmed bases, or drop them [clip]", keyword="trim_bases", choices=TRIMMED_BASES
    )
    correct: bool = option(
        False,
        "where overlapping mates differ, correct a base of Q14 or less if the mate's has Q30 or more",
        keyword="correct_overlap",
    )


UMI_SOURCES = ("name", "comment", "tag")  # in addition to a read structure


class ReadStructure(NamedTuple):
    """Segments of a read in order: their contents and lengths; None: the remaining bases, for at most one segment.

    T template, M molecular identifier, B sample barcode, C cell barcode, S skipped.
    """

    segments: tuple[tuple[str, int | None], ...]


@dataclass(frozen=True, slots=True)
class UmiParameters:
    """Location of unique molecular identifiers (UMIs), see `readwarp.formats.reads.umis`."""

    source: str  # one of UMI_SOURCES, or structure
    structures: tuple[ReadStructure, ...] = ()  # for single reads, or for first and last reads
    duplex: bool = False  # UMIs have two parts, swapped on the other strand of a molecule


class DuplicateRules(NamedTuple):
    """Rules that tell templates apart beyond their ends (`readwarp.finish.molecules`)."""

    umis: bool = False  # only templates of one molecule are duplicates of each other
    duplex: bool = False  # the two strands of a molecule have UMIs with swapped parts


BY_ENDS = DuplicateRules()


@dataclass(frozen=True, slots=True)
class AlignParameters:
    """Parameters of all steps."""

    seed: SeedParameters = field(default_factory=SeedParameters)
    scoring: Scoring = field(default_factory=Scoring)
    chain: ChainParameters = field(default_factory=ChainParameters)
    pair: PairParameters = field(default_factory=PairParameters)
    records: RecordParameters = field(default_factory=RecordParameters)
    long: LongParameters = field(default_factory=LongParameters)
    trim: TrimParameters | None = None  # None: no trimming

    @property
    def longest_single(self) -> int:
        """Length of the longest single read that is aligned: scores have 31 bits."""
        scoring = self.scoring
        largest = max(scoring.match, scoring.mismatch, scoring.gap_open, scoring.gap_extend, scoring.end_bonus)
        return min(MAX_LONG_READ_LENGTH, MAX_INTEGER // (2 * largest))


class Preset(NamedTuple):
    """Seeds, scores and limits for one type of reads."""

    reads: str
    parameters: AlignParameters
    platform: str | None = "short"  # one of CALL_PLATFORMS; None: not for variant calling
    instrument: str | None = None  # PL of the read groups; "": none; None: from read names


LONG = LongParameters(min_length=500)  # shorter single reads have few seeds, and are compared base by base
# Matches count twice.
NANOPORE = LongParameters(
    min_length=500, extend=LongExtendParameters(drop=400, long_gap_open=24, long_gap_extend=1, max_gap_cost=400)
)
PRESETS = {  # see docs/methods/seed.md
    "standard": Preset("reads of 75 bases or more", AlignParameters()),
    "short": Preset("shorter reads", AlignParameters(SeedParameters(k=16, s=14, t=1))),  # 1 k-mer in 3, not in 5
    "hifi": Preset("PacBio HiFi", AlignParameters(long=LONG), "hifi", "PACBIO"),
    "ont": Preset("nanopore", AlignParameters(scoring=Scoring(2, 4, 4, 2, 10), long=NANOPORE), "ont", "ONT"),
    "asm": Preset("assembly contigs", AlignParameters(scoring=Scoring(1, 9, 16, 1, 5), long=LONG), None, ""),
    "auto": Preset("short and long reads in one file", AlignParameters(long=LONG), None),
}
CALLED_PRESETS = {name: preset for name, preset in PRESETS.items() if preset.platform}
NAMES_ELSEWHERE = {  # presets of minimap2 and bwa: the preset here, or what to do
    "sr": "standard",
    "map-hifi": "hifi",
    **dict.fromkeys(("map-ont", "ont2d"), "ont"),
    **dict.fromkeys(("asm5", "asm10", "asm20", "intractg"), "asm"),
    "lr:hq": "give --preset ont for nanopore reads, hifi for PacBio HiFi",
    **dict.fromkeys(
        ("map-pb", "pacbio"), "PacBio CLR is not supported (error rate too high): use minimap2; HiFi reads: hifi"
    ),
    **dict.fromkeys(
        ("splice", "splice:hq", "splice:sr", "cdna"), "readwarp is for DNA: align RNA with minimap2, STAR or HISAT2"
    ),
    **dict.fromkeys(("ava-pb", "ava-ont"), "readwarp aligns reads to a reference, not to each other: use minimap2"),
}


def find_preset(name: str, presets: Mapping[str, Preset] = PRESETS) -> str:
    """Find the preset of this name, here or in minimap2. Raises UsageError, with a suggestion."""
    found = NAMES_ELSEWHERE.get(name, name)
    if found in presets:
        return found
    if found in PRESETS:
        raise UsageError(f"--preset {name}: is not for calling variants: align these with `readwarp align`")
    known = f"not one of {', '.join(presets)}"
    raise UsageError(f"--preset {name}: {known if found == name else found}")
