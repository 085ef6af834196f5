"""The steps from a batch of reads to its alignment records."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from readwarp.align import alternates, flagstat, pair, records
from readwarp.align import trim as trimming
from readwarp.align.alternates import Alternates, cut_alternates
from readwarp.align.batches import Candidates, Chains, Extensions, Scores
from readwarp.align.chain.cpu import chain_hits
from readwarp.align.insert_models import InsertModels
from readwarp.align.long import steps as long
from readwarp.align.long.lengths import are_long
from readwarp.align.long.steps import ON_DEVICE
from readwarp.align.places import Genome, places_of
from readwarp.align.seed import again
from readwarp.align.seed.runs import ReferenceRuns
from readwarp.config import MAX_READ_LENGTH, AlignParameters
from readwarp.device.backend import Backend
from readwarp.finish.writer import Prepared, Preparer
from readwarp.formats.alignments.records import AlignmentBatch
from readwarp.formats.alignments.sam import Encoder
from readwarp.formats.common.reads import ReadBatch, Segment
from readwarp.index import Index
from readwarp.index.reference import Reference
from readwarp.metrics import Metrics
from readwarp.python.sequences import Read, read_of
from readwarp.ragged import concatenate, offsets_of, ranges, replace, take
from readwarp.rules.bases import CODES, LETTERS, unpack
from readwarp.rules.statuses import Status

NO_QUALITY = 255
SAMPLE_PAIRS = 256  # with which the kernels are compiled
Output = tuple[Encoder, Preparer]
SEED, CHAIN, EXTEND = (f"readwarp.align.{step}" for step in ("seed", "chain", "extend"))


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


def align_batch(
    reads: ReadBatch, index: PlacedIndex, sizes: InsertModels, parameters: AlignParameters, metrics: Metrics
) -> tuple[ReadBatch, AlignmentBatch]:
    """Align a batch; return its reads as shown in records, and the records.

    Each read appears once as primary or unmapped, followed by its supplementary and secondary alignments.
    """
    aligned, inputs = trace_batch(reads, index, sizes, parameters, metrics)
    with metrics.time("records"):
        alignments = records.build(inputs, parameters)
    flagstat.count(reads, aligned, alignments, parameters.longest_single, metrics)
    return inputs.reads, alignments


def prepare_batch(
    reads: ReadBatch,
    index: PlacedIndex,
    sizes: InsertModels,
    parameters: AlignParameters,
    metrics: Metrics,
    output: Output,
) -> Prepared:
    """Align a batch and prepare its records; on a card, BAM records of short reads are made and sorted there too."""
    backend, (encoder, preparer) = index.backend, output
    if backend.name == "cpu" or not encoder.is_binary or are_long(reads, parameters).any():
        written, alignments = align_batch(reads, index, sizes, parameters, metrics)
        with metrics.time("encode"):
            encoded = encoder.encode(written, alignments)
        with metrics.time("prepare"):
            return preparer.prepare(encoded)
    aligned, inputs = trace_batch(reads, index, sizes, parameters, metrics)
    inputs = replace(inputs, context=replace(inputs.context, genome=index.bases))
    with backend.frame():
        with metrics.time("records"):
            there, groups, libraries = backend.to_device((inputs, encoder.groups, preparer.libraries))
            alignments = records.build(there, parameters)
        with metrics.time("encode"):
            encoded = encoder.encode_records(there.reads, alignments, groups)
            flags = backend.to_host(alignments, *flagstat.COLUMNS)
        with metrics.time("prepare"):
            arranged, reach = preparer.arrange(encoded, libraries)
            prepared = preparer.complete(backend.to_host(arranged), reach)
    flagstat.count(reads, aligned, flags, parameters.longest_single, metrics)
    metrics.count("encoded_on_card", len(encoded))
    return prepared


def trace_batch(
    reads: ReadBatch, index: PlacedIndex, sizes: InsertModels, parameters: AlignParameters, metrics: Metrics
) -> tuple[ReadBatch, records.RecordInputs]:
    """Trim and align a batch; return the trimmed reads, and what the records are made of."""
    trimmed = trim(reads, parameters, metrics)
    choices, extensions = align_by_length(trimmed.aligned, index, sizes, parameters, metrics)
    metrics.count("traced", extensions.score.size)
    count_statuses("extend_trace", extensions.status, metrics)
    if parameters.trim:
        trimming.count(trimmed, metrics)
    with metrics.time("records"):
        both = trimmed.aligned, trimmed.written
        return trimmed.aligned, records.gather(*both, choices, extensions, index.host.reference, parameters)


def align_by_length(
    reads: ReadBatch, index: PlacedIndex, sizes: InsertModels, parameters: AlignParameters, metrics: Metrics
) -> tuple[records.Choices, Extensions]:
    """Align long reads by their own steps, the others as short ones."""
    side = long.KernelSide(index.backend, index.bases.packed)
    is_long = are_long(reads, parameters)
    if not is_long.any():
        return align_short(reads, index, sizes, parameters, metrics)
    if is_long.all():
        return long.align(reads, index.host, side, parameters, metrics, index.alternates)
    is_short = ~is_long | (reads.segment != Segment.UNPAIRED)  # the mate of a long mate is a short read that has a mate
    rows = np.flatnonzero(is_short), np.flatnonzero(is_long)
    some = [take(reads, "reads", each) for each in rows]
    short = align_short(some[0], index, sizes, parameters, metrics)
    both = short, long.align(some[1], index.host, side, parameters, metrics, index.alternates)
    choices = concatenate([each[0] for each in both], "reads")
    extensions = concatenate([each[1] for each in both], "extensions")
    order = np.empty(len(reads), np.int64)
    order[np.concatenate(rows)] = np.arange(rows[0].size + rows[1].size)  # long mates twice: the last stays
    return take(choices, "reads", order), take(extensions, "extensions", ranges(choices.choice_offsets, order))


def align_short(
    reads: ReadBatch, index: PlacedIndex, sizes: InsertModels, parameters: AlignParameters, metrics: Metrics
) -> tuple[records.Choices, Extensions]:
    """Find the places of reads and their mates, and the alignments there."""
    backend, extend = index.backend, index.backend.step(EXTEND)
    reference, scoring = index.host.reference, parameters.scoring
    with backend.frame():
        with metrics.time("seed"):
            there = backend.to_device(reads, *ON_DEVICE)
        chains = find_chains(reads, there, index, parameters, metrics)
        with metrics.time("seed"):
            chains = look_again(reads, chains, index, parameters)
        with metrics.time("pair"):
            planned = pair.plan_candidates(reads, chains, reference.contig_offsets, sizes, parameters.pair)
        with metrics.time("extend_score"):
            oriented = extend.orient(reads, there)
            planned_scores = extend.score(oriented, planned, index.bases.packed, scoring)
        with metrics.time("rescue"):
            places = places_of(planned, planned_scores, parameters)
            parts = pair.plan_parts(reads.read_offsets, places, reference.contig_offsets, parameters)
            rescued = pair.plan_rescue(reads, chains.settled, places, reference, sizes, parameters)
        with metrics.time("extend_rescued"):
            others = pair.join(parts, rescued)
            other_scores = extend.score(oriented, others, index.bases.packed, scoring)
            candidates, scores = pair.merge(planned, planned_scores, others, other_scores)
        if index.alternates:
            with metrics.time("extend_lifted"):
                lifted = alternates.plan_lifted(reads, (candidates, scores), index.alternates, parameters)
                lifted_scores = extend.score(oriented, lifted, index.bases.packed, scoring)
                candidates, scores = pair.merge(candidates, scores, lifted, lifted_scores)
                metrics.count("lifted_windows", len(lifted))
        with metrics.time("choose"):
            known = reads, places_of(candidates, scores, parameters), sizes, parameters, chains.repetitive
            if index.alternates:  # loci of the primary assembly compete
                choices = alternates.choose(*known, index.alternates)
            else:
                choices = records.choose(*known, reference.contig_offsets)
        with metrics.time("extend_trace"):
            chosen, found = (take(batch, "candidates", choices.candidate) for batch in (candidates, scores))
            extensions = extend.trace(oriented, chosen, index.bases.packed, scoring, found)
    metrics.count("dp_cells", dp_cells(reads, candidates, scores, choices.candidate))
    metrics.count("chains", chains.score.size)
    metrics.count("candidates", len(planned))
    metrics.count("rescue_windows", len(rescued))
    for step, done in (("chain", chains), ("extend_score", scores)):
        count_statuses(step, done.status, metrics)
    return choices, extensions


def trim(reads: ReadBatch, parameters: AlignParameters, metrics: Metrics) -> trimming.Trimmed:
    """Trim the reads of a batch on the host, if trimming is on."""
    if parameters.trim is None:
        return trimming.untrimmed(reads)
    with metrics.time("trim"):
        return trimming.trim(reads, parameters.trim)


def find_chains(
    reads: ReadBatch, there: ReadBatch, index: PlacedIndex, parameters: AlignParameters, metrics: Metrics
) -> Chains:
    """Look up and chain seeds on the side that holds the index; the chains are on the host."""
    side = index.seeding
    mine = there if side == index.backend else reads
    with side.frame():
        with metrics.time("seed"):
            hits = side.step(SEED).find_seeds(mine, index.there, index.primary, parameters.seed, parameters.scoring)
        with metrics.time("chain"):
            chains: Chains = side.step(CHAIN).chain_hits(
                mine, hits, index.genome.contig_offsets, parameters.seed, parameters.chain
            )
            return chains


def look_again(reads: ReadBatch, chains: Chains, index: PlacedIndex, parameters: AlignParameters) -> Chains:
    """Add chains that a second look finds for weak reads, after the read's own."""
    weak = again.find_weak(reads, chains, parameters)
    if weak.rows.size == 0:
        return chains
    hits = again.find_seeds(reads, weak, index.host, index.repeats, parameters)
    some, offsets = take(reads, "reads", weak.rows), index.host.reference.contig_offsets
    more, sizes = chain_hits(some, hits, offsets, parameters.seed, parameters.chain), np.diff(chains.chain_offsets)
    places = np.repeat(chains.chain_offsets[weak.rows + 1], np.diff(more.chain_offsets))
    sizes[weak.rows] += np.diff(more.chain_offsets)
    own, added = chains.chain_offsets[-1], more.chain_offsets[-1]
    order = np.insert(np.arange(own), places, np.arange(own, own + added))
    merged = take(concatenate([chains, more], "chains"), "chains", order)
    merged.repetitive[weak.rows] = more.repetitive
    return replace(merged, chain_offsets=offsets_of(sizes))


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
                    chains = find_chains(reads, there, index, parameters, metrics)
                evidence.append(pair.collect_evidence(reads, chains, index.host.reference.contig_offsets))
    return pair.fit_groups(evidence, parameters.pair)


def warm_up(index: PlacedIndex, parameters: AlignParameters, output: Output) -> None:
    """Compile every kernel with pairs cut from the reference, half of them with a gap and a mate that needs rescue.

    Includes the kernels of long reads if reads within MAX_READ_LENGTH count as long.
    """
    reads = sample_pairs(index.host)
    metrics = Metrics()
    sizes = train([reads], index, parameters, metrics).common
    prepare_batch(reads, index, InsertModels(replace(sizes, low=1, high=1000)), parameters, metrics, output)
    if parameters.long.min_length <= MAX_READ_LENGTH:
        side = long.KernelSide(index.backend, index.bases.packed)
        long.align(sample_reads(index.host), index.host, side, parameters, metrics)


def sample_pairs(index: Index) -> ReadBatch:
    """Cut SAMPLE_PAIRS pairs of up to 120 bases, 300 apart: enough of each kind to fill the vector lanes."""
    window = sample_window(index.reference)
    length = min(120, window.size)
    forward, mate = window[:length], window[window.size - length :][::-1]
    reverse = np.where(mate > 3, mate, 3 - mate).astype(np.uint8)
    changed = reverse.copy()
    changed[7::15] = (changed[7::15] + 1) & 3
    gapped = np.concatenate([forward[: length // 2], forward[length // 2 + 1 :], forward[:1]])
    letters = (LETTERS[bases].tobytes().decode() for bases in (forward, reverse, gapped, changed))
    return make_batch([("a", read, "?" * length) for read in letters] * (SAMPLE_PAIRS // 2), paired=True)


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


def dp_cells(reads: ReadBatch, candidates: Candidates, scores: Scores, traced: np.ndarray) -> int:
    """Count the cells (read length times window) of candidates that needed dynamic programming; traced ones twice."""
    rows = np.concatenate([np.flatnonzero(scores.status == Status.OK), traced[scores.status[traced] == Status.OK]])
    lengths = np.diff(reads.read_offsets)[candidates.read[rows]]
    lengths = np.where(
        candidates.part_stop[rows] > 0, candidates.part_stop[rows] - candidates.part_start[rows], lengths
    )
    return int((lengths * (candidates.window_stop[rows] - candidates.window_start[rows])).sum())


def count_statuses(step: str, status: np.ndarray, metrics: Metrics) -> None:
    """Count the items that a kernel could not do, or did without dynamic programming."""
    seen = np.bincount(status, minlength=len(Status))
    for kind in Status:
        if kind > Status.OK and seen[kind]:
            metrics.count(f"{step}_{kind.name.lower()}", int(seen[kind]))
