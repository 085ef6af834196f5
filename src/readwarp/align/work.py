"""The work on a batch of reads: parse, align, encode, prepare for the output."""

from collections.abc import Sequence
from dataclasses import dataclass

from readwarp.align import steps
from readwarp.align.trainer import AlignCards, TrainedModel
from readwarp.finish.writer import Prepared, Preparer
from readwarp.formats.alignments.sam import Encoder
from readwarp.formats.reads.fastx import is_plain
from readwarp.formats.reads.raw import RawBatch
from readwarp.formats.reads.stream import parse
from readwarp.formats.reads.umi_checks import check_umis, count_umis
from readwarp.metrics import Metrics
from readwarp.stream.halving import Reads
from readwarp.stream.parts import WHOLE, Part, select_reads


@dataclass(frozen=True, slots=True)
class AlignedBatch:
    """An aligned batch."""

    source: int
    reads: int
    stop: int  # number of the template after the last one
    prepared: list[Prepared]
    metrics: Metrics


@dataclass(frozen=True, slots=True)
class Aligning:
    """Settings that all workers share."""

    cards: AlignCards
    encoder: Encoder
    preparer: Preparer
    part: Part
    done: int  # templates aligned by earlier runs

    def align(self, item: tuple[RawBatch, TrainedModel]) -> AlignedBatch:
        """Align the batch's reads that are in the part and not aligned yet."""
        (raw, (sizes, parameters, umi)), metrics = item, Metrics()
        stop = raw.first_template + raw.templates
        prepared, number = list[Prepared](), 0
        output = self.encoder, self.preparer

        def work(part: Reads, index: steps.PlacedIndex) -> Prepared:
            own = Metrics()  # not of work that is done again, in halves
            made = steps.prepare_batch(part, index, sizes, parameters, own, output)
            metrics.include(own)
            return made

        if any(self.part.spans(max(raw.first_template, self.done), stop)):
            for some in self._select(raw, umi, metrics):
                number += len(some)
                prepared += self.cards.work(some, work, metrics.count)
        return AlignedBatch(raw.source, number, stop, prepared, metrics)

    def _select(self, raw: RawBatch, umi: str, metrics: Metrics) -> Sequence[Reads]:
        """Return the reads to align; a batch that may be parsed beside the kernels as it is."""
        if is_plain(raw) and self.part == WHOLE and raw.first_template >= self.done:
            return [raw]
        with metrics.time("parse"):
            reads = parse(raw)
            if raw.input.umi:
                check_umis(reads, raw, umi)
        if reads.left_out:
            metrics.count("comment_tags_left_out", reads.left_out)
        selected = select_reads(reads, raw.first_template, self.part, self.done)
        if raw.input.umi:
            for some in selected:
                count_umis(some, metrics)
        return selected
