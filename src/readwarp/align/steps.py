"""The steps from a batch of reads to its alignment records."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from readwarp.align import alternates, flagstat, pair, records
from readwarp.align import trim as trimming
from readwarp.align.alternates import Alternates, cut_alternates
from readwarp.align.batches import Candidates, Chains, Scores, gather_candidates, gather_chains, gather_scores
from readwarp.align.chain.cpu import chain_hits
from readwarp.align.extend import steps as extend
from readwarp.align.insert_models import InsertModels
from readwarp.align.long import steps as long
from readwarp.align.long.lengths import are_long
from readwarp.align.long.steps import ON_DEVICE
from readwarp.align.places import Genome, places_of
from readwarp.align.seed import again
from readwarp.align.seed.runs import ReferenceRuns
from readwarp.config import MAX_READ_LENGTH, AlignParameters
from readwarp.device.backend import Backend
from readwarp.device.gather import merge_offsets
from readwarp.device.rows import is_on_card, to_host
from readwarp.finish.writer import Prepared, Preparer
from readwarp.formats.alignments.records import AlignmentBatch
from readwarp.formats.alignments.sam import Encoder
from readwarp.formats.common.reads import ReadBatch, Segment
from readwarp.formats.reads import fastx
from readwarp.formats.reads.fastx_text import Text
from readwarp.formats.reads.raw import Chunk, RawBatch, ReadInput
from readwarp.index import Index
from readwarp.index.reference import Reference
from readwarp.metrics import Metrics
from readwarp.python.sequences import Read, read_of
from readwarp.ragged import concatenate, offsets_of, ranges, replace, take
from readwarp.rules.bases import CODES, LETTERS, unpack
from readwarp.rules.statuses import Status

NO_QUALITY = 255
SAMPLE_PAIRS = 256  # with which the kernels are compiled
MEAN_TEXT = 3  # bytes of FASTQ for each base of the longest short read: if records have more on average, some are long
Output = tuple[Encoder, Preparer]
SEED, CHAIN = "readwarp.align.seed", "readwarp.align.chain"


@dataclass(frozen=True, slots=True)
class PlacedIndex:
    """An index with its arrays on the host, for planning and records, and where kernels run."""

    host: Index
    backend: Backend  # side on which reads are extended
    bases: Genome  # the reference on that side
    seeding: Backend  # side on which seeds are looked up and chained
    there: Index  # the index on that side
    genome: Genome  # on that side
    primary: Genome  # the same up to the first ALT contig: places there may settle a read
    repeats: ReferenceRuns  # on the host
    alternates: Alternates | None = None  # the ALT contigs; None: all contigs are treated alike


def place(
    index: Index, backend: Backend, seeds_on_host: bool = False, alternates: Alternates | None = None
) -> PlacedIndex:
    """Place the index on the backend's current device, once for all workers of that device.

    seeds_on_host: the card has no room for the seeds, so the host looks them up.
    """
    seeding = Backend("cpu") if seeds_on_host else backend
    there, reference = seeding.resident(index), backend.resident(index.reference)
    genome = Genome.of(index.reference if seeds_on_host else reference)
    primary = genome if alternates is None else seeding.resident(cut_alternates(genome, alternates))
    repeats = ReferenceRuns(Genome.of(index.reference))
    return PlacedIndex(index, backend, Genome.of(reference), seeding, there, genome, primary, repeats, alternates)


class StepStatuses(NamedTuple):
    """Statuses of a batch of short reads by step, on the side where the steps ran."""

    chains: Any  # int64 [1]: number
    chain: Any  # uint8 [reads]: Status
    extend_score: Any  # uint8 [candidates]
    extend_trace: Any  # uint8 [extensions]


class TracedBatch(NamedTuple):
    """Reads with their alignments: short reads on the side where kernels run, else on the host."""

    reads: ReadBatch
    traced: records.TracedChoices
    statuses: StepStatuses


def align_batch(
    reads: ReadBatch, index: PlacedIndex, sizes: InsertModels, parameters: AlignParameters, metrics: Metrics
) -> tuple[ReadBatch, AlignmentBatch]:
    """Align a batch; return its reads as shown in records, and the records, on the host.

    Each read appears once as primary or unmapped, followed by its supplementary and secondary alignments.
    """
    with index.backend.frame():
        shown, alignments = to_host(make_records(reads, index, sizes, parameters, metrics))
    return shown, alignments


def prepare_batch(
    batch: ReadBatch | RawBatch,
    index: PlacedIndex,
    sizes: InsertModels,
    parameters: AlignParameters,
    metrics: Metrics,
    output: Output,
) -> Prepared:
    """Align a batch and prepare its records; FASTQ is parsed, and BAM records are sorted, where kernels run.

    So it is with short reads; others are parsed, and their records made, on the host. Raises InputError.
    """
    encoder, preparer = output
    with index.backend.frame():
        reads = parse(batch, index, parameters, metrics) if isinstance(batch, RawBatch) else batch
        made = make_records(reads, index, sizes, parameters, metrics)
        with metrics.time("encode"):
            encoded = encoder.encode(*(made if encoder.is_binary else to_host(made)))
        if is_on_card(encoded):
            metrics.count("encoded_on_card", len(encoded))
        with metrics.time("prepare"):
            return preparer.prepare(encoded)


def parse(raw: RawBatch, index: PlacedIndex, parameters: AlignParameters, metrics: Metrics) -> ReadBatch:
    """Parse a plain batch (`fastx.is_plain`) on the card if all further steps are there. Raises InputError."""
    longest = min(parameters.long.min_length - 1, MAX_READ_LENGTH, parameters.longest_single)
    is_here = index.backend.name == "cpu" or index.seeding != index.backend or index.alternates or parameters.trim
    with metrics.time("parse"):
        if not is_here and raw.chunk.bytes <= MEAN_TEXT * longest * len(raw):
            with index.backend.frame():
                reads = fastx.parse_beside(raw, index.bases.packed, longest)
            if reads:
                metrics.count("parsed_on_card", len(reads))
                return reads
        return fastx.parse(raw)


def make_records(
    reads: ReadBatch, index: PlacedIndex, sizes: InsertModels, parameters: AlignParameters, metrics: Metrics
) -> tuple[ReadBatch, AlignmentBatch]:
    """See align_batch; the results are on the side where the alignments are, see TracedBatch."""
    (aligned, shown, *_), (there, traced, statuses) = trace_batch(reads, index, sizes, parameters, metrics)
    with metrics.time("records"):
        context = records.context_of(aligned, index.host.reference, parameters)
        if there is not aligned:
            shown = there if shown is aligned else index.backend.to_device(shown)
            context = index.backend.to_device(replace(context, genome=index.bases))
        alignments = records.build(shown, there.read_offsets, traced, context, parameters)
        columns, statuses = to_host((flagstat.COUNTED(alignments), statuses))
    flagstat.count(reads, aligned, columns, parameters.longest_single, metrics)
    count_statuses(statuses, metrics)
    return shown, alignments


def trace_batch(
    reads: ReadBatch, index: PlacedIndex, sizes: InsertModels, parameters: AlignParameters, metrics: Metrics
) -> tuple[trimming.Trimmed, TracedBatch]:
    """Trim and align a batch, long reads by their own steps, the others as short ones."""
    trimmed = trim(reads, parameters, metrics)
    if parameters.trim:
        trimming.count(trimmed, metrics)
    align = align_mixed if are_long(trimmed.aligned, parameters).any() else align_short
    return trimmed, align(trimmed.aligned, index, sizes, parameters, metrics)


def align_mixed(
    reads: ReadBatch, index: PlacedIndex, sizes: InsertModels, parameters: AlignParameters, metrics: Metrics
) -> TracedBatch:
    """Align a batch that has long reads."""
    side, is_long = long.KernelSide(index.backend, index.bases.packed), are_long(reads, parameters)
    if is_long.all():
        found = long.align(reads, index.host, side, parameters, metrics, index.alternates)
        none = np.empty(0, np.uint8)
        statuses = StepStatuses(np.zeros(1, np.int64), none, none, found[1].status)
        return TracedBatch(reads, records.TracedChoices(*found), statuses)
    is_short = ~is_long | (reads.segment != Segment.UNPAIRED)  # the mate of a long mate is a short read that has a mate
    rows = np.flatnonzero(is_short), np.flatnonzero(is_long)
    few, many = (take(reads, "reads", each) for each in rows)
    short, statuses = to_host(align_short(few, index, sizes, parameters, metrics)[1:])
    both = short, long.align(many, index.host, side, parameters, metrics, index.alternates)
    choices = concatenate([each[0] for each in both], "reads")
    extensions = concatenate([each[1] for each in both], "extensions")
    order = np.empty(len(reads), np.int64)
    order[np.concatenate(rows)] = np.arange(rows[0].size + rows[1].size)  # long mates twice: the last stays
    extensions = take(extensions, "extensions", ranges(choices.choice_offsets, order))
    choices = take(choices, "reads", order)
    statuses = statuses._replace(extend_trace=extensions.status)
    return TracedBatch(reads, records.TracedChoices(choices, extensions), statuses)


def align_short(
    reads: ReadBatch, index: PlacedIndex, sizes: InsertModels, parameters: AlignParameters, metrics: Metrics
) -> TracedBatch:
    """Find the places of reads and their mates, and the alignments there."""
    backend, (packed, contig_offsets) = index.backend, index.bases
    with metrics.time("seed"):
        there = backend.to_device(reads)
    chains = find_chains(reads, there, index, parameters, metrics)
    with metrics.time("seed"):
        chains = look_again(there, chains, index, parameters)
    with metrics.time("pair"):
        candidates = pair.plan_candidates(there, chains, contig_offsets, sizes, parameters.pair)
        metrics.count("candidates", len(candidates))
    with metrics.time("extend_score"):
        extender = extend.extender_of(backend, there, packed, parameters.scoring, metrics)
        scores = extend.score(extender, candidates)
    with metrics.time("rescue"):
        places = places_of(candidates, scores, parameters)
        parts = pair.plan_parts(there.read_offsets, places, contig_offsets, parameters)
        rescued = pair.plan_rescue(there, chains.settled, places, index.host.reference, sizes, parameters)
        metrics.count("rescue_windows", len(rescued))
    with metrics.time("extend_rescued"):
        others, _ = pair.merge(parts, backend.to_device(rescued))
        candidates, scores = add_scored(extender, candidates, scores, others)
    if index.alternates:
        with metrics.time("extend_lifted"):
            lifted = alternates.plan_lifted(reads, to_host((candidates, scores)), index.alternates, parameters)
            metrics.count("lifted_windows", len(lifted))
            candidates, scores = add_scored(extender, candidates, scores, backend.to_device(lifted))
    with metrics.time("choose"):
        places = places_of(candidates, scores, parameters)
        if index.alternates:  # loci of the primary assembly compete
            places, repetitive = to_host((places, chains.repetitive))
            choices = alternates.choose(reads, places, sizes, parameters, repetitive, index.alternates)
            choices = backend.to_device(choices)
        else:
            choices = records.choose(there, places, sizes, parameters, chains.repetitive, contig_offsets)
    with metrics.time("extend_trace"):
        chosen = gather_candidates(choices.candidate, candidates), gather_scores(choices.candidate, scores)
        extensions = extend.trace(extender, *chosen)
    statuses = StepStatuses(chains.chain_offsets[-1:], chains.status, scores.status, extensions.status)
    return TracedBatch(there, records.TracedChoices(choices, extensions), statuses)


def add_scored(
    extender: extend.Extender, candidates: Candidates, scores: Scores, others: Candidates
) -> tuple[Candidates, Scores]:
    """Score further candidates, and add them to those with a score."""
    if len(others) == 0:
        return candidates, scores
    found = extend.score(extender, others)
    candidates, rows = pair.merge(candidates, others)
    return candidates, gather_scores(rows, scores, found)


def trim(reads: ReadBatch, parameters: AlignParameters, metrics: Metrics) -> trimming.Trimmed:
    """Trim the reads of a batch on the host, if trimming is on."""
    if parameters.trim is None:
        return trimming.untrimmed(reads)
    with metrics.time("trim"):
        return trimming.trim(reads, parameters.trim)


def find_chains(
    reads: ReadBatch, there: ReadBatch, index: PlacedIndex, parameters: AlignParameters, metrics: Metrics
) -> Chains:
    """Look up and chain seeds on the side that holds the index; the chains are on the side where kernels run."""
    side = index.seeding
    mine = there if side == index.backend else reads
    with side.frame():
        with metrics.time("seed"):
            hits = side.step(SEED).find_seeds(mine, index.there, index.primary, parameters.seed, parameters.scoring)
        with metrics.time("chain"):
            chains: Chains = side.step(CHAIN).chain_hits(
                mine, hits, index.genome.contig_offsets, parameters.seed, parameters.chain
            )
    return chains if side == index.backend else index.backend.to_device(chains)


def look_again(reads: ReadBatch, chains: Chains, index: PlacedIndex, parameters: AlignParameters) -> Chains:
    """Add chains that a second look, on the host, finds for weak reads, after the read's own."""
    some, weak = again.find_weak(reads, chains, parameters)
    if len(some) == 0:
        return chains
    hits = again.find_seeds(some, weak, index.host, index.repeats, parameters)
    more = chain_hits(some, hits, index.host.reference.contig_offsets, parameters.seed, parameters.chain)
    sizes = np.zeros(len(reads), np.int64)
    sizes[weak.rows] = np.diff(more.chain_offsets)
    more, rows, added = index.backend.to_device((more, weak.rows, offsets_of(sizes)))
    own, number = chains.score.size, chains.score.size + more.score.size
    offsets, merged = merge_offsets(len(reads), chains.chain_offsets, added, own, number=number)
    again.put_repetitive(weak.rows.size, rows, more.repetitive, chains.repetitive)
    return replace(gather_chains(merged, chains, more), chain_offsets=offsets)


def train(
    batches: Iterable[ReadBatch], index: PlacedIndex, parameters: AlignParameters, metrics: Metrics
) -> InsertModels:
    """Fit the insert-size models of an input to its first `training_pairs` pairs, which the caller cuts off."""
    evidence = []
    with metrics.time("train"):
        for reads in batches:
            if (reads.segment == Segment.FIRST).any():
                reads = trim(reads, parameters, metrics).aligned
                with index.backend.frame():
                    there = index.backend.to_device(reads, *ON_DEVICE)
                    chains = to_host(find_chains(reads, there, index, parameters, metrics))
                evidence.append(pair.collect_evidence(reads, chains, index.host.reference.contig_offsets))
    return pair.fit_groups(evidence, parameters.pair)


def warm_up(index: PlacedIndex, parameters: AlignParameters, output: Output) -> None:
    """Compile every kernel with pairs cut from the reference, half of them with a gap and a mate that needs rescue.

    Includes the kernels of long reads if reads within MAX_READ_LENGTH count as long.
    """
    pairs, metrics = sample_pairs(index.host), Metrics()
    sizes = train([fastx.parse(pairs)], index, parameters, metrics).common
    prepare_batch(pairs, index, InsertModels(replace(sizes, low=1, high=1000)), parameters, metrics, output)
    if parameters.long.min_length <= MAX_READ_LENGTH:
        side = long.KernelSide(index.backend, index.bases.packed)
        long.align(sample_reads(index.host), index.host, side, parameters, metrics)


def sample_pairs(index: Index) -> RawBatch:
    """Cut SAMPLE_PAIRS pairs of up to 120 bases, 300 apart, as FASTQ: enough of each kind to fill the vector lanes."""
    window = sample_window(index.reference)
    length = min(120, window.size)
    forward, mate = window[:length], window[window.size - length :][::-1]
    reverse = np.where(mate > 3, mate, 3 - mate).astype(np.uint8)
    changed = reverse.copy()
    changed[7::15] = (changed[7::15] + 1) & 3
    gapped = np.concatenate([forward[: length // 2], forward[length // 2 + 1 :], forward[:1]])
    texts = []
    for reads in ((forward, gapped), (reverse, changed)):
        records = [b"@a\n%s\n+\n%s\n" % (LETTERS[bases].tobytes(), b"?" * bases.size) for bases in reads]
        letters = np.frombuffer(b"".join(records) * (SAMPLE_PAIRS // 2) + bytes(8), np.uint8)
        texts.append(Text(letters[: letters.size // 8 * 8], 0, letters.size - 8))
    chunk = Chunk("fastq", 1, SAMPLE_PAIRS, SAMPLE_PAIRS, tuple(texts))
    return RawBatch(0, 0, ReadInput(("sample", "mates")), 0, chunk)


def sample_reads(index: Index) -> ReadBatch:
    """Cut reads of up to 300 bases with a stretch in the middle and one at the end that the reference lacks."""
    window = sample_window(index.reference)
    middle, size = window.size // 2, window.size // 20
    changed = window.copy()
    for first in (middle, window.size - size):
        changed[first : first + size] = (changed[first : first + size] + 1) & 3
    reads = (window, changed, np.delete(changed, slice(middle, middle + 3)))
    return make_batch([("a", LETTERS[bases].tobytes().decode(), None) for bases in reads], paired=False)


def make_batch(reads: Sequence[Read | tuple[str, str, str | None]], paired: bool) -> ReadBatch:
    """Make a batch of reads, or (name, sequence, qualities in Phred + 33); mates are neighbours if paired."""
    given = [read if isinstance(read, Read) else read_of(read, number) for number, read in enumerate(reads)]
    names, letters = [read.name for read in given], [read.letters for read in given]
    unknown = np.full(max(map(len, letters), default=0), NO_QUALITY, np.uint8)
    qualities = [unknown[: len(read.letters)] if read.qualities is None else read.qualities for read in given]
    segments = [Segment.FIRST, Segment.LAST] * (len(given) // 2) if paired else [Segment.UNPAIRED] * len(given)
    return ReadBatch(
        number=0,
        source=0,
        bases=CODES[np.frombuffer(b"".join(letters), np.uint8)],
        qualities=np.concatenate([np.empty(0, np.uint8), *qualities]),
        read_offsets=offsets_of([len(text) for text in letters]),
        names=np.frombuffer("".join(names).encode(), np.uint8).copy(),
        name_offsets=offsets_of([len(name) for name in names]),
        tags=np.empty(0, np.uint8),
        tag_offsets=np.zeros(len(given) + 1, np.int64),
        segment=np.array(segments, np.uint8),
        read_group=np.full(len(given), -1, np.int32),
        failed=np.zeros(len(given), np.uint8),
    )


def sample_window(reference: Reference) -> np.ndarray:
    """Cut up to 300 bases of the longest contig, without N if one of 64 places allows it."""
    contig = int(np.argmax(np.diff(reference.contig_offsets)))
    first, last = (int(offset) for offset in reference.contig_offsets[contig : contig + 2])
    window = np.empty(min(300, last - first), np.uint8)
    for place in range(64):
        start = first + (last - first - window.size) * place // 64
        unpack(reference.packed, start, start + window.size, window)
        if window.max() < 4:
            break
    return window


def count_statuses(statuses: StepStatuses, metrics: Metrics) -> None:
    """Count the items that a kernel could not do, or did without dynamic programming."""
    metrics.count("chains", int(statuses.chains[0]))
    metrics.count("traced", statuses.extend_trace.size)
    by_step = {"chain": statuses.chain, "extend_score": statuses.extend_score, "extend_trace": statuses.extend_trace}
    for step, status in by_step.items():
        for kind in Status:
            if kind > Status.OK and (seen := int(np.count_nonzero(status == kind))):
                metrics.count(f"{step}_{kind.name.lower()}", seen)
