"""Checks of UMIs in RX: present, of one layout in all reads of an input, and the same for both mates."""

import numpy as np

from readwarp.compiler.jit import kernel, scalar
from readwarp.config import UmiParameters
from readwarp.errors import InputError
from readwarp.formats.alignments.layout import TEXT, field_stop
from readwarp.formats.common.reads import ReadBatch
from readwarp.formats.common.text import same_bytes
from readwarp.formats.reads.raw import RawBatch, ReadInput
from readwarp.formats.reads.umis import LAST, MINUS, N, error_of, is_letter
from readwarp.metrics import Metrics

OK, NO_TAG, NOT_TEXT, BAD_LETTER, UNLIKE, MIXED = range(6)
REASONS = {
    NO_TAG: "has no UMI: no tag RX:Z:",
    NOT_TEXT: "has no UMI: its tag RX is not text",
    BAD_LETTER: "its UMI has letters other than A C G T N, with '-' between its parts",
    UNLIKE: "the mates of the pair have different UMIs",
}


def layout_of(first: ReadBatch, given: ReadInput) -> str:
    """Return the UMI of an input's first read, "" without reads. Raises InputError without a (duplex) UMI."""
    if given.umi is None or not len(first):
        return ""
    name = first.names[: first.name_offsets[1]].tobytes().decode("latin-1")
    record = 1 if given.umi.source != "tag" else name
    text = umi_of(first, 0)
    parts = text.split("-")
    if not text:
        raise InputError(given.paths[0], explain(first, 0, NO_TAG, "", given.umi), record)
    if given.umi.duplex and (len(parts) != 2 or len(parts[0]) != len(parts[1])):
        reason = f"its UMI is {text}, but --umi-duplex needs two parts of equal length"
        raise InputError(given.paths[0], reason, record)
    return text


def umi_of(reads: ReadBatch, read: int) -> str:
    """Return the UMI of a read, "" without one."""
    start, stop = span_of_umi(reads.tags, reads.tag_offsets, read)
    return reads.tags[start:stop].tobytes().decode("latin-1") if start else ""


def check_umis(reads: ReadBatch, raw: RawBatch, layout: str) -> None:
    """Check that each read of a batch has a UMI of this layout, and mates the same one. Raises InputError."""
    wanted = np.frombuffer(layout.encode("latin-1"), np.uint8)
    read, reason = find_bad_umi(reads, wanted)
    if read >= 0:
        assert raw.input.umi
        raise error_of(reads, raw, read, explain(reads, read, reason, layout, raw.input.umi))


def count_umis(reads: ReadBatch, metrics: Metrics) -> None:
    """Count pairs and single reads, and those whose UMI has an N."""
    templates, unknown = count_templates(reads)
    metrics.count("umis", templates)
    metrics.count("umis_with_n", unknown)


def explain(reads: ReadBatch, read: int, reason: int, layout: str, umi: UmiParameters) -> str:
    """Explain why the UMI of a read is rejected."""
    if reason == NO_TAG and umi.source == "comment":
        return "its comment has no RX:Z: tag"
    if reason != MIXED:
        return REASONS[reason]
    return f"its UMI {umi_of(reads, read)} has other lengths than the input's first, {layout}"


@scalar
def find_umi(tags, start, stop):
    """Return where the value of RX starts and stops among the fields; (0, 0): absent, (0, 1): not text."""
    while start + 4 <= stop:
        end = field_stop(tags, start, stop)
        if tags[start] == 82 and tags[start + 1] == 88:
            return (start + 3, end - 1) if tags[start + 2] == TEXT else (np.int64(0), np.int64(1))
        start = end
    return np.int64(0), np.int64(0)


@kernel
def span_of_umi(tags, offsets, read):
    """Return `find_umi` of a read."""
    return find_umi(tags, offsets[read], offsets[read + 1])


@scalar
def problem_of(text, start, stop):
    """Return OK, or why text[start:stop] is not a UMI."""
    size = 0
    for i in range(start, stop):
        if not is_letter(text[i]) and not (text[i] == MINUS and size):
            return BAD_LETTER
        size = 0 if text[i] == MINUS else size + 1
    return OK if size else BAD_LETTER


@scalar
def has_layout(text, start, stop, layout):
    """Return whether a UMI's parts have the same lengths as those of `layout`, another UMI."""
    same = stop - start == layout.size
    for i in range(layout.size if same else 0):
        same &= (text[start + i] == MINUS) == (layout[i] == MINUS)
    return same


@scalar
def has_unknown(text, start, stop):
    """Return whether a letter is N."""
    found = False
    for i in range(start, stop):
        found |= text[i] == N
    return found


@kernel
def find_bad_umi(reads, layout):
    """Find a read without a UMI in RX of another's layout (uint8 [letters]), or with another than its mate.

    Returns (read, reason) or (-1, OK).
    """
    tags, offsets = reads.tags, reads.tag_offsets
    mate_start = mate_stop = np.int64(0)
    for r in range(reads.segment.size):
        start, stop = find_umi(tags, offsets[r], offsets[r + 1])
        if start == 0:
            return r, NOT_TEXT if stop else NO_TAG
        problem = problem_of(tags, start, stop)
        if problem:
            return r, problem
        if not has_layout(tags, start, stop, layout):
            return r, MIXED
        if reads.segment[r] == LAST:
            size = stop - start
            if size != mate_stop - mate_start or not same_bytes(tags, start, tags, mate_start, size):
                return r, UNLIKE
        mate_start, mate_stop = start, stop
    return -1, OK


@kernel
def count_templates(reads):
    """Count templates, and those whose UMI has an N."""
    templates = unknown = 0
    for r in range(reads.segment.size):
        if reads.segment[r] != LAST:
            start, stop = find_umi(reads.tags, reads.tag_offsets[r], reads.tag_offsets[r + 1])
            templates += 1
            unknown += has_unknown(reads.tags, start, stop)
    return templates, unknown
