"""What a command says when it is done: the files that it wrote, and what to do next."""

import argparse
import logging
import shlex
from collections.abc import Mapping
from pathlib import Path

from readwarp.config import CALLED_PRESETS

ENDINGS = (".g.vcf.gz", ".vcf.gz", ".g.vcf", ".vcf", ".bcf", ".bam", ".cram", ".sam")
logger = logging.getLogger("readwarp")


def conclude(options: argparse.Namespace, paths: Mapping[str, Path]) -> None:
    """Log what was written and the next step, unless all went to stdout."""
    if not paths:
        return
    shown = [str(path) for name, path in paths.items() if not name.endswith("_index")]
    indexes = [path.suffix for name, path in paths.items() if name.endswith("_index")]
    logger.info("wrote %s%s", ", ".join(shown), f" (and {', '.join(indexes)})" if indexes else "")
    if step := next_step(options, paths):
        logger.info("next: %s", step)


def next_step(options: argparse.Namespace, paths: Mapping[str, Path]) -> str:
    """A command that one would give next, or what to do with the file."""
    command, alignments, variants = options.command, paths.get("alignments"), paths.get("variants")
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
    if getattr(options, "part", None):
        return "when all parts are there: readwarp merge PARTS -o sample.bam --mark-duplicates --write-index"
    is_sorted = options.sort == "coordinate" or (
        options.sort is None and (options.mark_duplicates or options.write_index)
    )
    stem = _stem(path)
    if getattr(options, "preset", None) not in (None, *CALLED_PRESETS):
        return ""
    umis = ("--umi", "tag") if getattr(options, "umi", None) else ()
    if umis and options.mark_duplicates and path.suffix in (".bam", ".cram"):
        duplex = ("--duplex",) if options.umi_duplex else ()
        source = ("--reference", reference) if path.suffix == ".cram" and reference != "REF" else ()
        return _spell("readwarp", "consensus", path, *duplex, *source, "-o", Path(f"{stem}.consensus.bam"))
    if is_sorted and path.suffix in (".bam", ".cram"):
        return _spell("readwarp", "call", reference, path, "-o", Path(f"{stem}.vcf.gz"))
    if not is_sorted and path.suffix == ".bam" and options.sort != "name":
        marked = Path(f"{stem}.sorted.bam")
        wanted = "--mark-duplicates", *umis, "--write-index"
        return _spell("readwarp", "merge", path, "-o", marked, *wanted) + " sorts it"
    return ""


def _stem(path: Path) -> str:
    ending = next((ending for ending in ENDINGS if path.name.endswith(ending)), "")
    return str(path).removesuffix(ending)


def _spell(*words: object) -> str:
    """For a shell; no file is taken for an option."""
    return shlex.join(f"./{word}" if isinstance(word, Path) and str(word)[0] == "-" else str(word) for word in words)
