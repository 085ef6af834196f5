"""Learn from the first reads of each input, before any is aligned: insert sizes and adapters."""

import logging
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from readwarp.align import steps
from readwarp.align import trim as trimming
from readwarp.align.inputs import Inputs
from readwarp.align.insert_models import InsertModels, InsertSizes
from readwarp.align.pair import DEFAULT
from readwarp.config import AlignParameters
from readwarp.formats.common.reads import ReadBatch, Segment
from readwarp.formats.reads.stream import check_encoding
from readwarp.formats.reads.umi_checks import layout_of
from readwarp.metrics import Metrics
from readwarp.stream.cards import Cards
from readwarp.wording import counted

logger = logging.getLogger("readwarp")
AlignCards = Cards[steps.PlacedIndex]


class TrainedModel(NamedTuple):
    """Insert sizes and adapters learned from the first pairs of an input and of its read groups."""

    sizes: InsertModels
    parameters: AlignParameters  # the job's, with this input's adapters
    umi: str = ""  # of the first read; all reads have its layout


class Trainer:
    """Trainer on the first reads, in the reading thread; logs its findings and adds them to the metrics."""

    def __init__(
        self,
        inputs: Inputs,
        parameters: AlignParameters,
        given: InsertSizes | None,  # given by the user
        cards: AlignCards,
        metrics: Metrics,
    ) -> None:
        self.inputs = inputs
        self.parameters, self.given = parameters, given
        self.cards, self.metrics = cards, metrics
        self.first: list[ReadBatch] = []  # reads of the first input, for the closing report
        self.models: list[dict[str, object]] = []  # one entry per input
        self.adapters: list[dict[str, object]] = []  # one entry per input with learned adapters

    def train(self, first: list[ReadBatch]) -> TrainedModel:
        self.first = self.first or first
        umi = ""
        if first:
            given = self.inputs.inputs[first[0].source]
            check_encoding(first, given)
            umi = layout_of(first[0], given)
        parameters = self._learn(first)
        own, pair = self.given, parameters.pair
        if own or not (pair.pairing or pair.rescue):
            return TrainedModel(InsertModels(own or DEFAULT), parameters, umi)
        return TrainedModel(self._size(first, parameters), parameters, umi)

    def add_group(self, model: TrainedModel, group: int, first: list[ReadBatch]) -> TrainedModel:
        """Add the model of a read group that appears later; with too few pairs, return the input's model unchanged."""
        pair = model.parameters.pair
        if self.given or not (pair.pairing or pair.rescue):
            return model
        sizes = self._estimate(first, model.parameters).common
        if not sizes.pairs:
            return model
        self._note_group(group, sizes)
        return model._replace(sizes=InsertModels(model.sizes.common, {**model.sizes.groups, group: sizes}))

    def _note_group(self, group: int, sizes: InsertSizes) -> None:
        name = self.inputs.read_group_ids[group]
        self.metrics.append("insert_sizes_of_read_groups", [{"read_group": name, **sizes._asdict()}])
        known = sizes.mean, sizes.deviation, counted(sizes.pairs, "pair")
        logger.info("insert size of %s %.0f ± %.0f, from %s", name, *known)

    def _learn(self, first: list[ReadBatch]) -> AlignParameters:
        """Return the job's parameters, with the input's adapters if they must be learned."""
        parameters = self.parameters
        if parameters.trim is None:
            return parameters
        with self.metrics.time("trim"):
            learned = trimming.learn(first, parameters.trim)
        if learned is None:
            return parameters
        self.adapters.append(learned._asdict())
        self.metrics.note(adapters=self.adapters)
        logger.info("adapters %s and %s, learned from %s", learned.first, learned.last, counted(learned.pairs, "pair"))
        return replace(parameters, trim=trimming.with_learned(parameters.trim, learned))

    def _size(self, first: list[ReadBatch], parameters: AlignParameters) -> InsertModels:
        found = self._estimate(first, parameters)
        sizes = found.common
        self.models.append(sizes._asdict())
        self.metrics.note(insert_sizes=self.models)
        if sizes.pairs:
            known = sizes.mean, sizes.deviation, counted(sizes.pairs, "pair")
            given = self.inputs.inputs
            whose = f"of {Path(given[first[0].source].paths[0]).name} " if len(given) > 1 else ""
            logger.info("insert size %s%.0f ± %.0f, from %s", whose, *known)
        elif any((reads.segment == Segment.FIRST).any() for reads in first):
            text = "too few confident pairs to estimate the insert size: assuming %.0f ± %.0f"
            logger.info(text, sizes.mean, sizes.deviation)
        for group, own in found.groups.items():
            self._note_group(group, own)
        return found

    def _estimate(self, first: list[ReadBatch], parameters: AlignParameters) -> InsertModels:
        """Estimate the models, on the CPU with the same result if the reads do not fit on the card."""
        cards = self.cards
        try:
            with cards.borrow() as index:
                return steps.train(first, index, parameters, self.metrics)
        except Exception as error:
            if not cards.backend.is_out_of_memory(error):
                raise
        return steps.train(first, cards.on_host, parameters, self.metrics)
