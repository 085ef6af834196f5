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
)
from readwarp.wording import counted

Number = TypeVar("Number", int, float)
SORTS = ("coordinate", "name", "none")
SCORES = (  # options, field of `Scoring`, what it is
    ("-A", "--match", "match", "score of a match"),
    ("-B", "--mismatch", "mismatch", "penalty for a mismatch"),
    ("-O", "--gap-open", "gap_open", "penalty for opening a gap"),
    ("-E", "--gap-extend", "gap_extend", "penalty for each base in a gap"),
)
READ_SCORES = (*SCORES, ("", "--clip", "end_bonus", "penalty for clipping a read end"))  # -L is --targets everywhere
MNPS = ("max_mnp_distance", "phased substitutions at most N bases apart are one record; 0: none")
CALLING = (  # fields of `CallParameters`
    ("ploidy", "copies of each contig"),
    ("min_base_quality", "ignore bases of lower quality"),
    ("min_mapping_quality", "ignore reads of lower MAPQ"),
    ("max_depth", "maximum number of reads of each sample at a position; which ones is decided by hashes of names"),
    ("min_alternate_count", "a sample's reads that make an allele worth testing"),
    ("min_alternate_fraction", "a sample's share of reads that makes a substitution worth testing"),
    ("min_indel_fraction", "likewise, an insertion or deletion"),
    ("min_alternate_quality", "sum of base qualities that makes a substitution worth testing"),
    MNPS,
)
PRIORS = (  # likewise
    ("snv_prior", "chance that a base differs from the reference in a copy of the genome"),
    ("indel_prior", "likewise, that an insertion or deletion begins there"),
)
FRACTIONS = (  # fields of `FractionParameters`
    ("mutation_prior", "chance that a base is mutated; a tenth of it for insertions and deletions"),
    (
        "min_probability",
        "a call passes if it is real with this probability; below 0.5, the highest expected F1 may ask for more",
    ),
    ("min_fraction", "low_allele_frac: AF below N"),
    ("max_events", "clustered_events: more than N mutations of a tumour within 50 bases"),
)
STRUCTURAL = (  # fields of `StructuralParameters`
    ("min_sv_length", "shortest structural variant, in bases"),
    ("max_sv_length", "longest structural variant"),
    ("min_sv_support", "a sample's reads that must show one"),
)
OPTION_NAMES = {  # of fields whose options have other names, or more than one
    "min_quality": ("--min-quality", "--min-qual"),
    "snv_prior": ("--heterozygosity",),
    "indel_prior": ("--indel-heterozygosity",),
}
FILTER_LIMITS = (  # likewise; which filter fails a call, and when
    ("min_quality", "LowQual: QUAL below N"),
    ("max_strand_bias", "StrandBias: FS of a substitution above N"),
    ("max_indel_strand_bias", "StrandBias: FS of an insertion or deletion above N"),
    ("min_end_distance", "ReadEnds: ED below N"),
    (
        "min_allele_fraction",
        "LowFraction: share of reads with ALT alleles, times the ploidy, below N, and not by chance",
    ),
    (
        "min_haploid_fraction",
        "LowFraction: share of reads with ALT alleles below N, if the ploidy is 1, and not by chance",
    ),
    (
        "max_fraction_misfit",
        "LowFraction: a low share is not due to chance if it fits 10^(N / 10) times better than the genotype's",
    ),
    ("min_alt_mapping_quality", "LowMapping: AMQ below N, and too many reads without ALT alleles for the genotype"),
    (
        "min_expected_fraction",
        "LowMapping: too many are more than 1 - N times the genotype's share of ALT alleles, of the depth around",
    ),
)
MEMORY = "memory budget, such as 8G [what is free, less a margin]"
MIN_BYTES = 1 << 20  # fewer, without a unit, are a forgotten unit
UNITS = {"K": 1, "M": 2, "G": 3, "T": 4}


def pick_keywords(options: argparse.Namespace, known: type) -> Any:
    """The options that are keywords of a job (`known`, a TypedDict), by their long names."""
    return {name: getattr(options, name) for name in known.__annotations__ if hasattr(options, name)}


def size(text: str) -> int:
    """`4G`, `500M`, `1.5g` or plain bytes -> bytes."""
    number, factor = _split_unit(text.upper().removesuffix("B").removesuffix("I"), 1024)
    bytes_ = _convert(text, lambda: int(float(number) * factor), 1, "a size such as 500M or 4G")
    if factor == 1 and bytes_ < MIN_BYTES:
        raise argparse.ArgumentTypeError(f"{text!r} is {counted(bytes_, 'byte')}: perhaps {number}G")
    return bytes_


def count(text: str) -> int:
    """A whole number of 1 or more; 20M is 20 million."""
    number, factor = _split_unit(text.upper(), 1000)
    return _convert(text, lambda: int(number) * factor, 1, "a whole number of 1 or more")


def natural(text: str) -> int:
    """A whole number of 0 or more."""
    return _convert(text, lambda: int(text), 0, "a whole number of 0 or more")


def number(text: str) -> float:
    """A number of 0 or more."""
    return _convert(text, lambda: float(text), 0.0, "a number of 0 or more")


def _split_unit(text: str, step: int) -> tuple[str, int]:
    """`20M` -> 20 and the factor of M, which is step**2."""
    power = UNITS.get(text[-1:], 0)
    return text[:-1] if power else text, step**power


def _convert(text: str, convert: Callable[[], Number], minimum: Number, kind: str) -> Number:
    """Raises ArgumentTypeError for what is not a finite number of the minimum or more."""
    try:
        value = convert()
        if isfinite(value) and value >= minimum:
            return value
    except (ValueError, OverflowError):
        pass
    raise argparse.ArgumentTypeError(f"{text!r} is not {kind}")


def describe_presets(presets: Mapping[str, Preset]) -> str:
    """For a help text."""
    return "; ".join(f"{name}: {preset.reads}" for name, preset in presets.items())


def add_reference(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "reference", type=Path, metavar="REF", help="FASTA, GenBank or EMBL, may be compressed; or its index (.rwx)"
    )


def add_inputs(parser: argparse.ArgumentParser) -> None:
    """REF, READS and what kind of reads they are."""
    add_reference(parser)
    parser.add_argument(
        "reads",
        nargs="+",
        metavar="READS",
        help="FASTQ (plain, gzip, bzip2, xz or zstd), BAM, uBAM or CRAM; - is stdin. Two FASTQ files are mates; more "
        "are further pairs",
    )
    group = parser.add_argument_group("reads")
    text = r"'@RG\tID:x\tSM:y'; once for all inputs or once for each [by the names of files and reads]"
    group.add_argument("-R", "--read-group", action="append", metavar="LINE", help=text)
    text = "sample (SM) of all reads, also of those of BAM and CRAM files [by the file name, or as these say]"
    group.add_argument("--sample", metavar="NAME", help=text)
    group.add_argument("--library", metavar="NAME", help="library (LB), likewise [the sample, or as these say]")
    group.add_argument("-p", "--interleaved", action="store_true", help="mates alternate in each FASTQ file")
    group.add_argument("--single", action="store_true", help="reads are unpaired, even in two FASTQ files")
    text = "keep FASTQ comments: SAM tags, or Illumina's 1:N:0:ACGT, whose barcode becomes BC:Z:ACGT"
    group.add_argument("-C", "--comments", action="store_true", help=text)
    add_encoding(group)
    add_umis(group)


def add_umis(group: "argparse._ActionsContainer") -> None:
    """--umi --umi-duplex."""
    text = "UMIs go to RX, and only copies of one molecule are duplicates. They are at the end of each read's name "
    text += "(name), in RX:Z: of FASTQ comments (comment), in RX of BAM (tag), or in the reads: a read structure such "
    text += "as 8M12S+T (M UMI, S skipped, T template, B sample and C cell barcode), two of mates: 8M+T,+T"
    group.add_argument("--umi", metavar="WHERE", help=text)
    add_duplex(group)


def add_duplex(group: "argparse._ActionsContainer") -> None:
    """--umi-duplex."""
    text = "UMIs have two parts, which the other strand of a molecule has the other way round: MI ends in /A or /B"
    group.add_argument("--umi-duplex", action="store_true", help=text)


def add_encoding(group: "argparse._ActionsContainer") -> None:
    """--phred64 --phred33."""
    text = "base qualities are Phred+64, as Illumina's were until 2011: convert them"
    group.add_argument("--phred64", action="store_true", help=text)
    text = "base qualities are Phred+33, even if they look like Phred+64"
    group.add_argument("--phred33", action="store_true", help=text)


def add_output(parser: argparse.ArgumentParser, text: str) -> None:
    """-o -f."""
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help=text)
    parser.add_argument("-f", "--force", action="store_true", help="replace an existing output")


def add_sorting(parser: argparse.ArgumentParser) -> "argparse._ArgumentGroup":
    """--sort --mark-duplicates --write-index; their group."""
    group = parser.add_argument_group("output")
    text = "order of the records [none: that of the input; coordinate with --mark-duplicates or --write-index]"
    group.add_argument("--sort", choices=SORTS, help=text)
    group.add_argument("--mark-duplicates", action="store_true", help="sort by coordinate, and flag duplicates")
    group.add_argument("--write-index", action="store_true", help="sort by coordinate, and write .bai or .crai")
    return group


def add_resume(group: "argparse._ActionsContainer") -> None:
    """--resume."""
    text = "keep what is done in a folder beside the output, and continue from there when the command is run again"
    group.add_argument("--resume", action="store_true", help=text)


def add_scoring(parser: argparse.ArgumentParser, short: bool = True) -> None:
    """-A -B -O -E as in bwa mem, --clip; without `short` only --match and so on."""
    add_scores(parser.add_argument_group("scores (as in bwa mem)"), READ_SCORES, short)


def add_scores(group: "argparse._ArgumentGroup", rows: Iterable[tuple[str, str, str, str]], short: bool = True) -> None:
    for letter, name, field, text in rows:
        names = (letter, name) if short and letter else (name,)
        group.add_argument(*names, type=natural, metavar="N", help=f"{text} [{getattr(Scoring(), field)}]")


def add_trimming(parser: argparse.ArgumentParser) -> None:
    """--trim --adapter --adapter2 --trim-poly-g --trim-quality --trim-min-length --trim-bases --correct-overlap."""
    group, default = parser.add_argument_group("trimming (nothing is trimmed without --trim)"), TrimParameters()
    text = "cut off adapters and poly-G tails; adapters are found by the overlap of mates, or by sequence"
    group.add_argument("--trim", action="store_true", help=text)
    text = "adapter at the 3' end of first and single reads: a sequence of IUPAC letters or a FASTA file; may be "
    text += "repeated [TruSeq, Nextera, small RNA, MGI]"
    group.add_argument("--adapter", action="append", metavar="SEQ", help=text)
    text = "likewise of last reads [as --adapter]"
    group.add_argument("--adapter2", action="append", metavar="SEQ", help=text)
    text = "auto: of instruments whose names say that G is what they read without a signal (NovaSeq, NextSeq, ...) "
    group.add_argument("--trim-poly-g", choices=POLY_G, help=f"{text}[{default.poly_g}]")
    text = "also cut off 3' ends of quality below N, as `cutadapt -q` does [off]"
    group.add_argument("--trim-quality", type=natural, metavar="N", help=text)
    text = f"reads that are cut to less than N bases are kept as unmapped [{default.min_length}]"
    group.add_argument("--trim-min-length", type=natural, metavar="N", help=text)
    text = "keep the bases that are cut off as soft clips, or drop them [clip]"
    group.add_argument("--trim-bases", choices=("clip", "drop"), help=text)
    text = "where mates overlap and differ, replace a base of Q14 or less by what the mate says with Q30 or more"
    group.add_argument("--correct-overlap", action="store_true", help=text)


def add_places(group: "argparse._ArgumentGroup", verb: str, note: str = "") -> None:
    """-r -L --interval-padding --exclude-regions."""
    text = f"NAME, NAME:FROM (to the contig's end) or NAME:FROM-TO; several with commas, or repeated{note} [everywhere]"
    group.add_argument("-r", "--region", action="append", metavar="R", help=text)
    text = f"{verb} in a region, or in those of a BED file, interval list or list of regions; may be repeated{note}"
    group.add_argument("-L", "--targets", action="append", metavar="FILE", help=text)
    text = "also in N bases on either side of each of these [0]"
    group.add_argument("--interval-padding", type=natural, metavar="N", default=0, help=text)
    text = "but not in these intervals, given as for -L; may be repeated"
    group.add_argument("--exclude-regions", action="append", metavar="FILE", help=text)


def add_calling(parser: argparse.ArgumentParser) -> None:
    """-r -L --ploidy --gvcf --alleles, qualities, and limits of filters."""
    group = parser.add_argument_group("calling")
    add_places(group, "call")
    text = "kind of reads: short, hifi or ont, whose errors differ; auto: by PL of the read groups [auto]"
    group.add_argument("--platform", choices=CALL_PLATFORMS, default="auto", help=text)
    text = "also write how confident the reference is, in blocks (one sample)"
    group.add_argument("--gvcf", action="store_true", help=text)
    group.add_argument("--alleles", type=Path, metavar="VCF", help="always genotype the alleles in this file")
    text = "write the reads of called regions, aligned to the called haplotypes, to a BAM file (with .bai)"
    group.add_argument("--bam-output", type=Path, metavar="BAM", help=text)
    text = "write all records with the haplotypes that long reads are of (HP, PS) to a BAM file (with .bai)"
    group.add_argument("--haplotag", type=Path, metavar="BAM", help=text)
    add_fields(group, CALLING)
    text = "ignore bases in primers of amplicons, on reads made with them; contig, start, end, name, pool, strand"
    group.add_argument("--primers", type=Path, metavar="BED", help=text)
    text = "ignore all soft-clipped bases; without it, only clips that match the reference where they are"
    group.add_argument("--ignore-soft-clips", action="store_true", help=text)
    add_priors(group)
    text = "ploidies of intervals: contig, start, end, ploidy and, if only one has it, the sample"
    group.add_argument("--ploidy-bed", type=Path, metavar="BED", help=text)
    text = "contig that is a circle: reads across its origin count on both sides of it; may be repeated"
    group.add_argument("--circular", action="append", default=[], metavar="CONTIG", help=text)
    add_filters(parser)


def add_fractions(parser: argparse.ArgumentParser) -> None:
    """--mixture --somatic and what goes with them."""
    group = parser.add_argument_group("fractions (alleles on any share of the molecules, instead of on whole copies)")
    text = "call a mixture of molecules: a mitochondrion, a virus, cell-free DNA, a pool"
    group.add_argument("--mixture", action="store_true", help=text)
    text = "call mutations of a tumour; all samples that are no --normal are of it"
    group.add_argument("--somatic", action="store_true", help=text)
    text = "sample of the tumour's normal tissue; may be repeated"
    group.add_argument("--normal", action="append", default=[], metavar="NAME", help=text)
    text = "frequencies of alleles in the population (INFO AF), as of gnomAD: VCF.gz or BCF with its index"
    group.add_argument("--population", type=Path, metavar="VCF", help=text)
    text = "alleles that normal tissues show: VCF.gz or BCF with its index"
    group.add_argument("--panel-of-normals", type=Path, metavar="VCF", help=text)
    text = "fraction of the molecules that are another person's [estimated of each sample, with --population]"
    group.add_argument("--contamination", type=number, metavar="N", help=text)
    for field, text in FRACTIONS:
        value = getattr(FractionParameters(), field)
        kind = natural if isinstance(value, int) else number
        group.add_argument(f"--{field.replace('_', '-')}", type=kind, metavar="N", help=f"{text} [{value:g}]")
    text = "also write what most molecules of a mixture have, as FASTA"
    group.add_argument("--consensus", type=Path, metavar="FASTA", help=text)
    text = "bases with fewer reads are N there [10]"
    group.add_argument("--consensus-min-depth", type=natural, metavar="N", help=text)
    text = "name the most frequent bases there until they make up this fraction; several give an IUPAC code [0: one]"
    group.add_argument("--consensus-share", type=number, metavar="N", help=text)


def add_priors(group: "argparse._ArgumentGroup") -> None:
    """--heterozygosity --indel-heterozygosity."""
    add_fields(group, PRIORS)


def add_filters(parser: argparse.ArgumentParser) -> None:
    """Limits of filters."""
    group = parser.add_argument_group("filters (a call that fails a filter is written with the filter's name)")
    add_fields(group, FILTER_LIMITS)


def add_structural(parser: argparse.ArgumentParser) -> "argparse._ArgumentGroup":
    """--sv and limits; their group."""
    group = parser.add_argument_group("structural variants (of long reads: insertions and deletions)")
    text = "also write structural variants, to a file of their own: .vcf, .vcf.gz or .bcf"
    group.add_argument("--sv", type=Path, metavar="FILE", help=text)
    for field, text in STRUCTURAL:
        default = f"[{getattr(StructuralParameters(), field):,}]"
        group.add_argument(f"--{field.replace('_', '-')}", type=natural, metavar="N", help=f"{text} {default}")
    return group


def add_fields(group: "argparse._ArgumentGroup", rows: Iterable[tuple[str, str]]) -> None:
    """An option for each field of `CallParameters`."""
    for field, text in rows:
        value = getattr(CallParameters(), field)
        kind = natural if isinstance(value, int) else number
        names = OPTION_NAMES.get(field, (f"--{field.replace('_', '-')}",))
        group.add_argument(*names, type=kind, metavar="N", help=f"{text} [{value:g}]")


def add_resources(parser: argparse.ArgumentParser) -> None:
    """-t --memory --device --vram --batch-bases."""
    group = add_host_resources(parser)
    text = "auto, cpu, cuda (a free GPU) or cuda:0,1 [auto: a GPU if one works and the job is large enough]"
    group.add_argument("--device", default="auto", metavar="D", help=text)
    text = "memory budget of each GPU, such as 4G; CUDA takes 0.5G besides [what is free, less a margin]"
    group.add_argument("--vram", type=size, metavar="SIZE", help=text)
    text = "maximum number of read bases in a batch [by the memory budget]"
    group.add_argument("--batch-bases", type=count, metavar="N", help=text)


def add_host_resources(parser: argparse.ArgumentParser, memory: str = MEMORY) -> "argparse._ArgumentGroup":
    """-t --memory; their group. `memory`: the help text."""
    group = parser.add_argument_group("resources (none of them changes the output)")
    add_threads(group)
    group.add_argument("--memory", type=size, metavar="SIZE", help=memory)
    return group


def add_threads(group: "argparse._ActionsContainer") -> None:
    """-t."""
    group.add_argument("-t", "--threads", type=count, metavar="N", help="CPU threads [all that the process may use]")


def add_reporting(parser: argparse.ArgumentParser, metrics: bool = True) -> None:
    """--no-progress -q -v --log --metrics; read by `readwarp.cli.reporting`."""
    group = parser.add_argument_group("messages")
    group.add_argument("--no-progress", action="store_true", help="log lines instead of a progress bar")
    group.add_argument("-q", "--quiet", action="store_true", help="warnings and errors only")
    group.add_argument("-v", "--verbose", action="store_true", help="more log lines, and the traceback of an error")
    group.add_argument("--log", type=Path, metavar="FILE", help="also write log lines to FILE")
    if metrics:
        group.add_argument("--metrics", type=Path, metavar="FILE", help="write counts and times as JSON to FILE")
    else:
        parser.set_defaults(metrics=None)
