"""Options that several commands share."""

import argparse
from collections.abc import Callable, Iterable, Mapping
from math import isfinite
from pathlib import Path
from typing import Any, TypeVar

from readwarp.config import (
    CALL_PLATFORMS,
    POLY_G,
    CallParameters,
    FractionParameters,
    Preset,
    Scoring,
    StructuralParameters,
    TrimParameters,
    find_preset,
)
from readwarp.errors import UsageError
from readwarp.keywords import bytes_of, split_unit

Number = TypeVar("Number", int, float)
SORTS = ("coordinate", "name", "none")
SCORES = (  # options, field of `Scoring`, description
    ("-A", "--match", "match", "score of a match"),
    ("-B", "--mismatch", "mismatch", "penalty for a mismatch"),
    ("-O", "--gap-open", "gap_open", "penalty for opening a gap"),
    ("-E", "--gap-extend", "gap_extend", "penalty for extending a gap by a base"),
)
READ_SCORES = (*SCORES, ("", "--clip", "end_bonus", "penalty for clipping a read end"))  # -L is --targets everywhere
MNPS = ("max_mnp_distance", "join phased substitutions up to N bases apart in one record; 0: never")
CALLING = (  # fields of `CallParameters`
    ("ploidy", "ploidy of the samples"),
    ("min_base_quality", "ignore bases with quality < N"),
    ("min_mapping_quality", "ignore reads with MAPQ < N"),
    ("max_depth", "use at most N reads per sample at a position, chosen by hashes of their names"),
    ("min_alternate_count", "test alleles in at least N reads of a sample"),
    ("min_alternate_fraction", "test substitutions in at least this fraction of a sample's reads"),
    ("min_indel_fraction", "test insertions and deletions in at least this fraction of a sample's reads"),
    ("min_alternate_quality", "test substitutions whose base qualities add up to at least N"),
    MNPS,
)
PRIORS = (  # fields of `CallParameters`
    ("snv_prior", "prior probability that a base differs from the reference"),
    ("indel_prior", "prior probability that an insertion or deletion starts at a base"),
)
FRACTIONS = (  # fields of `FractionParameters`
    ("mutation_prior", "prior probability of a mutation at a base; a tenth of it for insertions and deletions"),
    (
        "min_probability",
        "a call passes if it is real with at least this probability, or more if that raises the expected F1",
    ),
    ("min_fraction", "filter calls with AF < N (low_allele_frac)"),
    ("max_events", "filter calls with more than N mutations within 50 bases (clustered_events)"),
)
STRUCTURAL = (  # fields of `StructuralParameters`
    ("min_sv_length", "shortest structural variant, in bases"),
    ("max_sv_length", "longest structural variant, in bases"),
    ("min_sv_support", "reads of a sample that must support one"),
)
OPTION_NAMES = {  # option names of fields that have another name, or more than one
    "min_quality": ("--min-quality", "--min-qual"),
    "snv_prior": ("--heterozygosity",),
    "indel_prior": ("--indel-heterozygosity",),
}
FILTER_LIMITS = (  # fields of `CallParameters`, and the filters whose limits they are
    ("min_quality", "filter calls with QUAL < N (LowQual)"),
    ("max_strand_bias", "filter substitutions with FS > N (StrandBias)"),
    ("max_indel_strand_bias", "filter insertions and deletions with FS > N (StrandBias)"),
    ("min_end_distance", "filter calls with ED < N (ReadEnds)"),
    (
        "min_allele_fraction",
        "filter calls with AD / DP x ploidy < N, if not by chance (LowFraction)",
    ),
    (
        "min_haploid_fraction",
        "filter calls at ploidy 1 with AD / DP < N, if not by chance (LowFraction)",
    ),
    (
        "max_fraction_misfit",
        "a low fraction is not by chance if it fits the reads 10^(N / 10) times better than the genotype does",
    ),
    ("min_alt_mapping_quality", "filter calls with AMQ < N and too many other reads for the genotype (LowMapping)"),
    (
        "min_expected_fraction",
        "too many are more than 1 - N x the genotype's ALT share of the depth around",
    ),
)
MEMORY = "memory budget, such as 8G [free less a margin]"


def pick_keywords(options: argparse.Namespace, known: type) -> Any:
    """Return the options that are keywords of a job (`known`, a TypedDict), by their long names."""
    return {name: getattr(options, name) for name in known.__annotations__ if hasattr(options, name)}


def size(text: str) -> int:
    """Parse `4G`, `500M`, `1.5g` or plain bytes."""
    try:
        return bytes_of(text)
    except UsageError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def count(text: str) -> int:
    """Parse a whole number of 1 or more; 20M is 20 million."""
    number, factor = split_unit(text.upper(), 1000)
    return _convert(text, lambda: int(number) * factor, 1, "a whole number of 1 or more")


def natural(text: str) -> int:
    """Parse a whole number of 0 or more."""
    return _convert(text, lambda: int(text), 0, "a whole number of 0 or more")


def number(text: str) -> float:
    """Parse a number of 0 or more."""
    return _convert(text, lambda: float(text), 0.0, "a number of 0 or more")


def _convert(text: str, convert: Callable[[], Number], minimum: Number, kind: str) -> Number:
    """Convert a text. Raises ArgumentTypeError unless it is a finite number of at least the minimum."""
    try:
        value = convert()
        if isfinite(value) and value >= minimum:
            return value
    except (ValueError, OverflowError):
        pass
    raise argparse.ArgumentTypeError(f"{text!r} is not {kind}")


def add_preset(group: "argparse._ActionsContainer", presets: Mapping[str, Preset]) -> None:
    """Add -x --preset, which takes minimap2's names too."""

    def named(text: str) -> str:
        try:
            return find_preset(text, presets)
        except UsageError as error:
            raise argparse.ArgumentTypeError(str(error).removeprefix("--preset ")) from None

    text = ", ".join(f"{name} ({preset.reads})" for name, preset in presets.items())
    text += "; minimap2's names, such as map-ont, are known [standard]"
    group.add_argument("-x", "--preset", choices=presets, type=named, metavar="NAME", help=text)


def add_reference(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "reference", type=Path, metavar="REF", help="FASTA, GenBank or EMBL, also compressed; or its index (.rwx)"
    )


def add_inputs(parser: argparse.ArgumentParser) -> None:
    """Add REF, READS and the options that say what type of reads they are."""
    add_reference(parser)
    parser.add_argument(
        "reads",
        nargs="+",
        metavar="READS",
        help="FASTQ (two files are mates), BAM, uBAM or CRAM; also gzip, bzip2, xz or zstd; - is stdin; more files are "
        "further inputs",
    )
    group = parser.add_argument_group("reads")
    text = r"'@RG\tID:x\tSM:y'; once, or once per input [from file and read names]"
    group.add_argument("-R", "--read-group", action="append", metavar="LINE", help=text)
    text = "sample (SM) of all reads [BAM header or file name]"
    group.add_argument("--sample", metavar="NAME", help=text)
    group.add_argument("--library", metavar="NAME", help="library (LB) of all reads [BAM header or sample]")
    text = "FASTA that CRAM was written with, if it is not REF [found by M5: REF, UR, REF_CACHE, REF_PATH]"
    group.add_argument("--input-reference", type=Path, metavar="FILE", help=text)
    text = "FASTQ files are interleaved: neighbours of one name are mates, others single reads"
    group.add_argument("-p", "--interleaved", action="store_true", help=text)
    group.add_argument(
        "--single",
        action="store_true",
        help="reads are unpaired, even in two FASTQ files; implied by --preset hifi, ont or asm",
    )
    text = "keep FASTQ comments: SAM tags, or 1:N:0:ACGT as BC:Z:ACGT"
    group.add_argument("-C", "--comments", action="store_true", help=text)
    add_encoding(group)
    add_umis(group)


def add_umis(group: "argparse._ActionsContainer") -> None:
    """Add --umi --umi-duplex."""
    text = "where UMIs are: name, comment, tag, or read structures such as 8M12S+T,+T; at the end of read names, in "
    text += "RX:Z: of FASTQ comments, in RX of BAM, or in the reads of both mates (M UMI, S skip, T template, B sample "
    text += "and C cell barcode); duplicates must share them"
    group.add_argument("--umi", metavar="WHERE", help=text)
    add_duplex(group)


def add_duplex(group: "argparse._ActionsContainer") -> None:
    """Add --umi-duplex."""
    text = "duplex UMIs: two halves, swapped on the other strand; MI ends in /A or /B"
    group.add_argument("--umi-duplex", action="store_true", help=text)


def add_encoding(group: "argparse._ActionsContainer") -> None:
    """Add --phred64 --phred33."""
    text = "qualities are Phred+64 (Illumina until 2011): convert them"
    group.add_argument("--phred64", action="store_true", help=text)
    text = "qualities are Phred+33, even if they look like Phred+64"
    group.add_argument("--phred33", action="store_true", help=text)


def add_file_list(parser: argparse.ArgumentParser, what: str, *short: str) -> None:
    text = f"file that lists {what}, one per line"
    parser.add_argument(*short, "--file-list", "--list", type=Path, metavar="FILE", help=text)


def add_output(parser: argparse.ArgumentParser, text: str) -> None:
    """Add -o -f."""
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help=text)
    parser.add_argument("-f", "--force", action="store_true", help="overwrite an existing output")


def add_sorting(parser: argparse.ArgumentParser) -> "argparse._ArgumentGroup":
    """Add --sort --mark-duplicates --write-index; return their group."""
    group = parser.add_argument_group("output")
    text = "order of the records [none: as the input]"
    group.add_argument("--sort", choices=SORTS, help=text)
    group.add_argument("--mark-duplicates", action="store_true", help="sort by coordinate and mark duplicates")
    group.add_argument("--write-index", action="store_true", help="sort by coordinate and write .bai or .crai")
    return group


def add_resume(group: "argparse._ActionsContainer") -> None:
    """Add --resume."""
    text = "continue from what an interrupted run has done; finished parts are kept beside the output"
    group.add_argument("--resume", action="store_true", help=text)


def add_scoring(parser: argparse.ArgumentParser, short: bool = True) -> None:
    """Add -A -B -O -E as in bwa mem, and --clip; without `short` only --match and so on."""
    add_scores(parser.add_argument_group("scores (as in bwa mem)"), READ_SCORES, short)


def add_scores(group: "argparse._ArgumentGroup", rows: Iterable[tuple[str, str, str, str]], short: bool = True) -> None:
    for letter, name, field, text in rows:
        names = (letter, name) if short and letter else (name,)
        group.add_argument(*names, type=natural, metavar="N", help=f"{text} [{getattr(Scoring(), field)}]")


def add_trimming(parser: argparse.ArgumentParser) -> None:
    """Add --trim --adapter --adapter2 --trim-poly-g --trim-quality --trim-min-length --trim-bases --correct-overlap."""
    group, default = parser.add_argument_group("trimming (nothing is trimmed without --trim)"), TrimParameters()
    text = "trim adapters and poly-G tails; adapters are found by mate overlap or by sequence"
    group.add_argument("--trim", action="store_true", help=text)
    text = "3' adapter of first and single reads: IUPAC sequence or FASTA file; may be repeated [TruSeq, Nextera, "
    text += "small RNA, MGI]"
    group.add_argument("--adapter", action="append", metavar="SEQ", help=text)
    text = "3' adapter of second reads; may be repeated [as --adapter]"
    group.add_argument("--adapter2", action="append", metavar="SEQ", help=text)
    text = "trim poly-G tails; auto: of two-colour instruments, by read names (NovaSeq, NextSeq, ...)"
    group.add_argument("--trim-poly-g", choices=POLY_G, help=f"{text} [{default.poly_g}]")
    text = "also trim 3' ends with quality below N, as `cutadapt -q` [off]"
    group.add_argument("--trim-quality", type=natural, metavar="N", help=text)
    text = f"leave reads trimmed to fewer than N bases unmapped [{default.min_length}]"
    group.add_argument("--trim-min-length", type=natural, metavar="N", help=text)
    text = "soft-clip the trimmed bases, or drop them [clip]"
    group.add_argument("--trim-bases", choices=("clip", "drop"), help=text)
    text = "where overlapping mates differ, correct a base of Q14 or less if the mate's has Q30 or more"
    group.add_argument("--correct-overlap", action="store_true", help=text)


def add_places(group: "argparse._ArgumentGroup", verb: str, note: str = "") -> None:
    """Add -r -L --interval-padding --exclude-regions."""
    text = f"CONTIG or CONTIG:FROM-TO; also CONTIG:FROM; several by commas or repeated{note} [everywhere]"
    group.add_argument("-r", "--region", action="append", metavar="R", help=text)
    text = f"{verb} in these intervals only; BED, interval list, list of regions or a region; may be repeated{note}"
    group.add_argument("-L", "--targets", action="append", metavar="FILE", help=text)
    text = "extend regions and targets by N bases on either side [0]"
    group.add_argument("--interval-padding", type=natural, metavar="N", help=text)
    text = "skip these intervals (formats as -L); may be repeated"
    group.add_argument("--exclude-regions", action="append", metavar="FILE", help=text)


def add_calling(parser: argparse.ArgumentParser) -> None:
    """Add -r -L --ploidy --gvcf --alleles, qualities, and limits of filters."""
    group = parser.add_argument_group("calling")
    add_places(group, "call")
    text = "read type: short, hifi or ont [auto: by @RG PL]"
    group.add_argument("--platform", choices=CALL_PLATFORMS, default="auto", metavar="NAME", help=text)
    text = "write a gVCF; one sample, with blocks of confident reference"
    group.add_argument("--gvcf", action="store_true", help=text)
    group.add_argument("--alleles", type=Path, metavar="VCF", help="always genotype these alleles")
    text = "write the reads of active regions, realigned to the called haplotypes (with .bai)"
    group.add_argument("--bam-output", type=Path, metavar="BAM", help=text)
    text = "write all alignments tagged with HP and PS; long reads only; with .bai"
    group.add_argument("--haplotag", type=Path, metavar="BAM", help=text)
    add_fields(group, CALLING)
    text = "mask amplicon primers; contig, start, end, name, pool, strand"
    group.add_argument("--primers", type=Path, metavar="BED", help=text)
    text = "ignore all soft-clipped bases [only clips that match the reference in place]"
    group.add_argument("--ignore-soft-clips", action="store_true", help=text)
    add_priors(group)
    text = "ploidy of intervals: contig, start, end, ploidy and, for one sample only, its name"
    group.add_argument("--ploidy-bed", type=Path, metavar="BED", help=text)
    text = "circular contig, called across its origin; may be repeated"
    group.add_argument("--circular", action="append", default=[], metavar="CONTIG", help=text)
    add_filters(parser)


def add_fractions(parser: argparse.ArgumentParser) -> "argparse._ArgumentGroup":
    """Add --mixture --somatic and related options; return their group."""
    group = parser.add_argument_group("alleles at any fraction (instead of diploid or other genotypes)")
    text = "call alleles at any fraction (viruses, mitochondria, pools); also cell-free DNA"
    group.add_argument("--mixture", action="store_true", help=text)
    text = "call mutations of a tumour"
    group.add_argument("--somatic", action="store_true", help=text)
    text = "population allele frequencies (INFO AF), such as gnomAD: VCF.gz or BCF with its index"
    group.add_argument("--population", type=Path, metavar="VCF", help=text)
    text = "panel of normals: VCF.gz or BCF with its index"
    group.add_argument("--panel-of-normals", type=Path, metavar="VCF", help=text)
    text = "fraction of molecules from another person [estimated per sample]"
    group.add_argument("--contamination", type=number, metavar="N", help=text)
    for field, text in FRACTIONS:
        value = getattr(FractionParameters(), field)
        kind = natural if isinstance(value, int) else number
        group.add_argument(f"--{field.replace('_', '-')}", type=kind, metavar="N", help=f"{text} [{value:g}]")
    text = "write the consensus genome (with --mixture)"
    group.add_argument("--consensus", type=Path, metavar="FASTA", help=text)
    text = "write N where fewer than N reads cover the consensus [10]"
    group.add_argument("--consensus-min-depth", type=natural, metavar="N", help=text)
    text = "add bases, most frequent first, until they reach this fraction; several give an IUPAC code [0: one]"
    group.add_argument("--consensus-share", type=number, metavar="N", help=text)
    return group


def add_priors(group: "argparse._ArgumentGroup") -> None:
    """Add --heterozygosity --indel-heterozygosity."""
    add_fields(group, PRIORS)


def add_filters(parser: argparse.ArgumentParser) -> None:
    """Add limits of filters."""
    group = parser.add_argument_group("filters (calls that fail are written, with the filter's name)")
    add_fields(group, FILTER_LIMITS)


def add_structural(parser: argparse.ArgumentParser) -> "argparse._ArgumentGroup":
    """Add --sv and limits; return their group."""
    group = parser.add_argument_group("structural variants (insertions and deletions in long reads)")
    text = "also call structural variants; to this .vcf, .vcf.gz or .bcf; long reads only"
    group.add_argument("--sv", type=Path, metavar="FILE", help=text)
    for field, text in STRUCTURAL:
        default = f"[{getattr(StructuralParameters(), field):,}]"
        group.add_argument(f"--{field.replace('_', '-')}", type=natural, metavar="N", help=f"{text} {default}")
    return group


def add_fields(group: "argparse._ArgumentGroup", rows: Iterable[tuple[str, str]]) -> None:
    """Add an option for each field of `CallParameters`."""
    for field, text in rows:
        value = getattr(CallParameters(), field)
        kind = natural if isinstance(value, int) else number
        names = OPTION_NAMES.get(field, (f"--{field.replace('_', '-')}",))
        group.add_argument(*names, type=kind, metavar="N", help=f"{text} [{value:g}]")


def add_resources(parser: argparse.ArgumentParser) -> None:
    """Add -t --memory --device --vram --batch-bases."""
    group = add_host_resources(parser)
    text = "auto, cpu, cuda or cuda:0,1; cuda is a free GPU, auto takes one for large jobs [auto]"
    group.add_argument("--device", default="auto", metavar="D", help=text)
    text = "memory budget of each GPU, such as 4G; CUDA takes another 0.5G [free memory less a margin]"
    group.add_argument("--vram", type=size, metavar="SIZE", help=text)
    text = "maximum read bases per batch [by the memory budget]"
    group.add_argument("--batch-bases", type=count, metavar="N", help=text)


def add_host_resources(parser: argparse.ArgumentParser, memory: str = MEMORY) -> "argparse._ArgumentGroup":
    """Add -t --memory; return their group. memory: the help text."""
    group = parser.add_argument_group("resources (they never change the output)")
    add_threads(group)
    group.add_argument("--memory", type=size, metavar="SIZE", help=memory)
    return group


def add_threads(group: "argparse._ActionsContainer") -> None:
    """Add -t."""
    group.add_argument("-t", "--threads", type=count, metavar="N", help="CPU threads [all available]")


def add_reporting(parser: argparse.ArgumentParser, metrics: bool = True) -> None:
    """Add --no-progress -q -v --log --metrics, which `readwarp.cli.reporting` reads."""
    group = parser.add_argument_group("messages")
    group.add_argument("--no-progress", action="store_true", help="log progress instead of showing a bar")
    group.add_argument("-q", "--quiet", action="store_true", help="log warnings and errors only")
    group.add_argument("-v", "--verbose", action="store_true", help="log more, with tracebacks of errors")
    group.add_argument("--log", type=Path, metavar="FILE", help="also write the log to FILE")
    if metrics:
        group.add_argument("--metrics", type=Path, metavar="FILE", help="write counts and times to FILE as JSON")
    else:
        parser.set_defaults(metrics=None)
