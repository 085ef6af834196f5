"""Closing lines of a command: the files it wrote, and what to do next."""

import argparse
import logging
import re
import shlex
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from readwarp.config import CALLED_PRESETS, PRESETS, find_preset
from readwarp.config.declare import chosen
from readwarp.config.options import RecordOptions

ENDINGS = (".g.vcf.gz", ".vcf.gz", ".g.vcf", ".vcf", ".bcf", ".bam", ".cram", ".sam")
CONSENSUS = re.compile(r"^readwarp consensus |\bCall\w*ConsensusReads\b")  # commands in @PG
ONE_PER_MOLECULE = {"cD", "MI"}  # tags of reads whose copies have already been merged
LONG_PLATFORMS = {preset.instrument for preset in PRESETS.values() if preset.instrument}
MADE_BY = "PN", "VN", "CL"  # fields of @PG
logger = logging.getLogger("readwarp")


class Contents(NamedTuple):
    """Types of reads in a file of alignments."""

    is_consensus: bool = False
    is_long: bool = False
    has_umis: bool = False


def conclude(options: argparse.Namespace, paths: Mapping[str, Path]) -> None:
    """Log the written files and the next step, unless everything went to stdout."""
    if not paths:
        return
    shown = [str(path) for name, path in paths.items() if not name.endswith("_index")]
    indexes = [path.suffix for name, path in paths.items() if name.endswith("_index")]
    logger.info("wrote %s%s", ", ".join(shown), f" (and {', '.join(indexes)})" if indexes else "")
    if step := next_step(options, paths):
        logger.info("next: %s", step)


def next_step(options: argparse.Namespace, paths: Mapping[str, Path]) -> str:
    """Suggest the next command, or what to do with the file."""
    command = options.command
    alignments, variants = paths.get("alignments"), paths.get("variants")
    reference = getattr(options, "reference", None) or "REF"
    if command == "index":
        return _spell("readwarp", "run", reference, "reads_1.fq.gz", "reads_2.fq.gz", "-o", "results")
    if command == "run" and "report" in paths:
        return f"open {shlex.quote(str(paths['report']))} in a browser"
    if command == "report":
        return "open it in a browser"
    if command == "consensus" and paths["reads"].suffix == ".bam":
        return _spell("readwarp", "align", "REF", paths["reads"], "-o", Path("consensus.aligned.bam"), "--write-index")
    if command == "panel" and variants is not None and variants.suffix != ".vcf":
        called = _spell("readwarp", "call", "REF", "tumour.bam", "--somatic", "--panel-of-normals", variants)
        return f"{called} -o somatic.vcf.gz"
    if command in ("align", "merge") and alignments is not None:
        return _after_alignment(options, alignments, reference)
    if variants is not None and getattr(options, "gvcf", False):
        return f"{_spell('readwarp', 'genotype', reference, variants)} OTHER.g.vcf.gz -o cohort.vcf.gz"
    if command in ("call", "genotype") and variants is not None:
        return f"{_spell('bcftools', 'view', '-f', 'PASS', variants)} shows the calls that pass all filters"
    return ""


def _after_alignment(options: argparse.Namespace, path: Path, reference: object) -> str:
    found, preset = _look_into(path), find_preset(getattr(options, "preset", None) or "standard")
    wanted = *_marking(options, found, preset), "--write-index"
    if getattr(options, "part", None):
        return f"when all parts are there: readwarp merge PARTS -o sample.bam {' '.join(wanted)}"
    is_sorted = chosen(RecordOptions(), vars(options)).order == "coordinate"
    stem = str(path).removesuffix(next((ending for ending in ENDINGS if path.name.endswith(ending)), ""))
    if preset not in CALLED_PRESETS:
        return ""
    if options.umi and options.mark_duplicates and path.suffix in (".bam", ".cram"):
        duplex = ("--duplex",) if options.umi_duplex else ()
        source = ("--reference", reference) if path.suffix == ".cram" and reference != "REF" else ()
        return _spell("readwarp", "consensus", path, *duplex, *source, "-o", Path(f"{stem}.consensus.bam"))
    if is_sorted and path.suffix in (".bam", ".cram"):
        called = _spell("readwarp", "call", reference, path, "-o", Path(f"{stem}.vcf.gz"))
        deep = options.umi or found.is_consensus
        return called + (" (low allele fractions: with --somatic for a tumour, else --mixture)" if deep else "")
    if not is_sorted and path.suffix == ".bam" and options.sort != "name":
        return _spell("readwarp", "merge", path, "-o", Path(f"{stem}.sorted.bam"), *wanted) + " sorts it"
    return ""


def _marking(options: argparse.Namespace, found: Contents, preset: str) -> tuple[str, ...]:
    """Return the options of `merge` that mark the duplicates of such reads."""
    if found.is_consensus or found.is_long or PRESETS[preset].instrument is not None:
        return ()
    umis = ("--umi", "tag") if getattr(options, "umi", None) or found.has_umis else ()
    return "--mark-duplicates", *umis, *(("--umi-duplex",) if umis and options.umi_duplex else ())


def _look_into(path: Path) -> Contents:
    """Examine the header, and in BAM the tags of the first record; a pipe is not read."""
    if path.suffix not in (".bam", ".cram") or not path.is_file():
        return Contents()
    from readwarp.formats.alignments.header import field, lines_of

    header, tags = _header_and_tags(path)
    made = any(CONSENSUS.search(field(line, "CL") or "") for line in lines_of(header, "PG"))
    platforms = {field(line, "PL") for line in lines_of(header, "RG")}
    is_long = bool(platforms) and platforms <= LONG_PLATFORMS
    return Contents(made or bool(tags & ONE_PER_MOLECULE), is_long, "RX" in tags)


def _header_and_tags(path: Path) -> tuple[str, set[str]]:
    """Return the header, and in BAM the tags of the first record; nothing of a file that cannot be read."""
    import pysam

    from readwarp.formats.common.silence import quiet_htslib

    with suppress(OSError, ValueError), quiet_htslib(), pysam.AlignmentFile(str(path), check_sq=False) as file:
        first = next(file.fetch(until_eof=True), None) if path.suffix == ".bam" else None
        return str(file.header), {name for name, _ in first.get_tags()} if first else set()
    return "", set()


def was_made_by(path: Path, command: str, inputs: Iterable[Path]) -> bool:
    """Return whether this command of this version wrote the alignments, and none of its inputs has changed since."""
    from readwarp.formats.alignments.header import field, lines_of, program_lines

    (ours, *_), made = program_lines([], command), lines_of(_header_and_tags(path)[0], "PG")
    if [field(ours, tag) for tag in MADE_BY] not in ([field(line, tag) for tag in MADE_BY] for line in made):
        return False
    finished = path.stat().st_mtime_ns
    return all(each.stat().st_mtime_ns <= finished for each in inputs if each.is_file())


def _spell(*words: object) -> str:
    """Shell-quote; guard names that begin with '-'."""
    return shlex.join(f"./{word}" if isinstance(word, Path) and str(word)[0] == "-" else str(word) for word in words)
