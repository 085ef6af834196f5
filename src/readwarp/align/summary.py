"""Report the result of an alignment and, where it looks wrong, the likely cause."""

import logging
import re
from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from readwarp.align.trim import describe
from readwarp.align.trim.known import ADAPTERS
from readwarp.config import DuplicateRules
from readwarp.formats.common.reads import ReadBatch, Segment
from readwarp.formats.reads.umis import RX
from readwarp.index import Index
from readwarp.metrics import Metrics
from readwarp.rules.bases import CODES
from readwarp.stream.parts import BLOCK, WHOLE, Part
from readwarp.wording import counted

FEW, HALF = 0.1, 0.5  # fractions of the reads
ENOUGH = 1000  # minimum number of reads to judge pairs and duplicates
ADAPTER_BASES, ADAPTER_STARTS = 12, 6  # compared bases, and the places at which an adapter may begin
SAMPLE = 100  # reads whose names and tags are examined
CONSENSUS_TAG = re.compile(rb"cD[cCsSiI]")
UMI_IN_NAME = re.compile(rb"[:_]r?[ACGTN]{4,}([+_-]r?[ACGTN]{4,})?$")
RARE, COMMON = 0.05, 0.35  # fractions of bases: cytosines left in bisulfite-treated reads, and the bases they became
NOT_IN_FULL = {  # counter -> noun and the rest of a warning
    "reads_too_long": ("read", "too long to align: left unmapped"),
    "batches_halved": ("batch", "too large for the GPU's memory: aligned in halves"),
    "comment_tags_left_out": ("tag", "of comments left out: from an earlier alignment, or given twice"),
    "reads_on_host": ("read", "too large for the GPU's memory: aligned on the CPU"),
}
logger = logging.getLogger("readwarp")


def summarize(metrics: Metrics, seconds: float, earlier: int, part: Part) -> None:
    """Log a line on the result, and one for each kind of read that could not be aligned as usual.

    earlier: reads aligned by the runs that this one continues, not included in seconds.
    """
    counts = metrics.counts
    reads = counts.get("reads", 0)
    metrics.note(align_seconds=round(seconds, 3), reads_per_second=round((reads - earlier) / seconds))
    if earlier:
        metrics.note(reads_of_earlier_runs=earlier)
    if not reads:
        none = "the input has no reads" if part == WHOLE else f"part {part} has no reads: a block is {BLOCK:,} pairs"
        logger.warning(none)
        return
    mapped, proper = (100 * counts.get(name, 0) / reads for name in ("mapped", "proper"))
    shares, speed = f"{mapped:.2f} % mapped, {proper:.2f} % in proper pairs", f"{(reads - earlier) / seconds:,.0f}"
    logger.info("%s in %.1f s, %s/s: %s", counted(reads, "read"), seconds, speed, shares)
    if "reads_trimmed" in counts:
        logger.info(describe(counts))
    for name, (noun, text) in NOT_IN_FULL.items():
        if counts.get(name):
            logger.warning("%s %s", counted(counts[name], noun), text)


def note_molecules(metrics: Metrics, rules: DuplicateRules, families: Counter[int]) -> None:
    """Count molecules, record the numbers of templates per molecule, and log a line on them."""
    if not rules.umis:
        return
    molecules, templates = families.total(), sum(size * number for size, number in families.items())
    metrics.count("molecules", molecules)
    metrics.note(family_sizes={str(size): families[size] for size in sorted(families)})
    alone, mean = families[1] / max(1, molecules), templates / max(1, molecules)
    reads, paired = (metrics.counts.get(name) for name in ("reads", "records_paired"))
    noun = "read" if paired == 0 else "pair" if reads and paired and paired >= reads else "template"
    text = "%s from %s (mean family size %.2f; %.1f %% singletons)"
    logger.info(text, counted(molecules, "molecule"), counted(templates, noun), mean, 100 * alone)
    if unknown := metrics.counts.get("umis_with_n"):
        forms = "template has an N in its UMI and was", "templates have an N in their UMI and were"
        logger.info("%s not assigned to a molecule", counted(unknown, *forms))


def warn_of_names(contigs: Sequence[str]) -> None:
    """Warn of contig names with commas, which separate the fields of SA and XA."""
    if commas := [name for name in contigs if "," in name]:
        more = f" (and {counted(len(commas) - 1, 'other contig')})" if len(commas) > 1 else ""
        text = "SA and XA cannot hold the comma in the name of contig %r%s: other programs misread such records"
        logger.warning(f"{text}; rename it in the reference", commas[0], more)


def warn_of_shares(metrics: Metrics, first: Sequence[ReadBatch], index: Index, pairing: bool = True) -> None:
    """Warn if few reads are mapped, few pairs are proper, or most reads are duplicates.

    first: the reads from which the insert size was estimated. pairing: whether pairs can be proper at all.
    """
    counts = metrics.counts
    reads, mapped, duplicates = (counts.get(name, 0) for name in ("reads", "mapped", "duplicates"))
    pairs, proper = counts.get("records_both_mapped", 0), counts.get("proper", 0)
    if reads and mapped < FEW * reads:
        bases, contigs = int(index.reference.contig_offsets[-1]), len(index.reference.names)
        place = f"the reference, which has {counted(contigs, 'contig')} and {counted(bases, 'base')}"
        causes = list(find_causes(first, index.parameters.k))
        text = "only %.2f %% of the reads are mapped to %s: likely causes are %s"
        usual = "another species or another reference, the wrong input files, RNA or bisulfite-treated DNA"
        logger.warning(text, 100 * mapped / reads, place, "; ".join([*causes, usual]))
    elif pairing and pairs >= ENOUGH and proper < HALF * pairs:
        text = "only %.2f %% of the pairs whose mates are both mapped are proper: likely causes are files of different"
        text += " libraries, mates in another order or orientation (mate-pair libraries), or distant mates (Hi-C: -5SP)"
        logger.warning(text, 100 * proper / pairs)
    if mapped >= ENOUGH and duplicates > HALF * mapped and "molecules" not in counts:
        text = "%.2f %% of the mapped reads are marked as duplicates, which are not used for calling: %s"
        logger.warning(text, 100 * duplicates / mapped, find_copies(first))


def find_copies(first: Sequence[ReadBatch]) -> str:
    """Advise on frequent duplicates, by the names and tags of the first reads."""
    names, tags = list[bytes](), list[bytes]()
    for reads in first:
        for row in range(min(len(reads), SAMPLE - len(names))):
            names.append(reads.names[slice(*reads.name_offsets[row : row + 2])].tobytes())
            tags.append(reads.tags[slice(*reads.tag_offsets[row : row + 2])].tobytes())
    if names and all(map(CONSENSUS_TAG.search, tags)):
        return "these are consensus reads, each of one molecule: do not mark them (run: --no-mark-duplicates)"
    if names and all(map(RX.search, tags)):
        return "reads have RX tags: add --umi tag (--umi comment for FASTQ)"
    if names and all(map(UMI_IN_NAME.search, names)):
        return "read names end in what look like UMIs: add --umi name"
    return "for amplicons, whose reads start alike, do not mark them (run: --primers BED or --no-mark-duplicates)"


def find_causes(first: Sequence[ReadBatch], seed: int) -> Iterator[str]:
    """Yield causes, visible in the reads, for why they cannot be aligned. seed: bases of a seed of the index."""
    batches = [reads for reads in first if len(reads)]
    if not batches:
        return
    lengths = np.concatenate([np.diff(reads.read_offsets) for reads in batches])
    length = int(np.median(lengths))
    if length < seed:
        yield f"reads too short for the index (half of them have at most {length} bases, a seed {seed}: --preset short)"
    adapters = sum(int(begin_with_adapters(reads).sum()) for reads in batches) / lengths.size
    if adapters > FEW:
        yield f"adapter dimers ({adapters:.0%} of the reads begin with one)"
    share = shares_of_bases(batches)
    if share[4] > HALF:
        yield f"{share[4]:.0%} of the bases are N"
    if max(share[:4]) > 2 * COMMON:
        letter = "ACGT"[int(np.argmax(share[:4]))]
        yield f"reads without a signal ({max(share[:4]):.0%} of the bases are {letter})"
    elif (share[1] < RARE and share[3] > COMMON) or (share[2] < RARE and share[0] > COMMON):
        rare, often = ("C", "T") if share[1] < RARE else ("G", "A")
        text = f"bisulfite ({rare} is {min(share[1:3]):.0%} of the bases, {often} {max(share[0], share[3]):.0%})"
        yield f"{text}: use an aligner for it"


def begin_with_adapters(reads: ReadBatch) -> np.ndarray:
    """Tell which reads begin with a known adapter, within the first bases, at most one difference: bool [reads]."""
    starts, lengths = reads.read_offsets[:-1], np.diff(reads.read_offsets)
    found = np.zeros(len(reads), bool)
    rows = np.flatnonzero(lengths >= ADAPTER_BASES + ADAPTER_STARTS)
    window = reads.bases[starts[rows, None] + np.arange(ADAPTER_BASES + ADAPTER_STARTS)]
    for letters in {text[:ADAPTER_BASES] for pair in ADAPTERS.values() for text in pair}:
        adapter = CODES[np.frombuffer(letters.encode(), np.uint8)]
        for at in range(ADAPTER_STARTS):
            found[rows] |= (window[:, at : at + ADAPTER_BASES] != adapter).sum(axis=1) <= 1
    return found


def shares_of_bases(batches: Sequence[ReadBatch]) -> list[float]:
    """Return the fractions of A, C, G, T and N in all reads except the last reads of pairs."""
    number = np.zeros(5, np.int64)
    for reads in batches:
        chosen = np.repeat(reads.segment != Segment.LAST, np.diff(reads.read_offsets))
        number += np.bincount(reads.bases[: chosen.size][chosen], minlength=5)[:5]
    return [float(n) / max(1, int(number.sum())) for n in number]
