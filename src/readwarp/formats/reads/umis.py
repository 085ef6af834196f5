"""Unique molecular identifiers (UMIs) of reads, moved to the field RX, and their qualities to QX.

    name       the last field of the name, after ':', as in Illumina and fastp (perhaps after letters and _),
               or after '_', as in UMI-tools; + and _ between its parts become -, and parts after r, which the
               instrument has reverse-complemented, are turned back
    comment    RX:Z: (and QX:Z:) of the FASTQ comment, as written by `samtools fastq -T RX,QX` and others
    tag        RX of the records of BAM or CRAM
    structure  bases of the reads themselves (`read_structure`), which are cut off; mates get the parts of both

The UMIs of an input have parts of equal lengths: those of its first read. Fields follow the SAM tags specification: RX
and QX, for sample barcodes BC and QT, for cell barcodes CR and CY; parts are joined by - and qualities by a space.
"""

import re

import numpy as np

from readwarp.config import ReadStructure, UmiParameters
from readwarp.errors import InputError
from readwarp.formats.alignments.fields import PER_BASE
from readwarp.formats.common.reads import ReadBatch
from readwarp.formats.reads import umi_kernels as kernels
from readwarp.formats.reads.raw import RawBatch, ReadInput
from readwarp.formats.reads.umi_kernels import Structures, TagFields
from readwarp.metrics import Metrics
from readwarp.ragged import empty, offsets_of, replace
from readwarp.wording import counted

RX = re.compile(rb"RXZ[ACGTN]+(-[ACGTN]+)*\0")  # a field of a record
NAMES = {"M": "RXQX", "B": "BCQT", "C": "CRCY"}  # of the fields, by the kind of segment
# Fields that number the bases of the whole read, or have a value for each.
OF_BASES = ("MM", "ML", "MN", "Mm", "Ml", *PER_BASE)


def extract_umis(reads: ReadBatch, raw: RawBatch) -> ReadBatch:
    """Add RX to the reads from where their input has UMIs; return them unchanged if that is RX. Raises InputError."""
    umi = raw.input.umi
    if umi is None or umi.source in ("comment", "tag"):
        return reads
    return from_names(reads, raw) if umi.source == "name" else from_bases(reads, raw, umi.structures)


def from_names(reads: ReadBatch, raw: RawBatch) -> ReadBatch:
    """Take UMIs from names. Raises InputError for a name without a UMI."""
    fields = empty(TagFields, {"reads": len(reads), "tag bytes": reads.names.size + 4 * len(reads)})
    read, reason = kernels.fields_of_names(reads.names, reads.name_offsets, fields)
    if read >= 0:
        raise error_of(reads, raw, read, kernels.REASONS[reason])
    return with_fields(reads, fields, ("RX", "QX"))


def from_bases(reads: ReadBatch, raw: RawBatch, given: tuple[ReadStructure, ...]) -> ReadBatch:
    """Cut the reads to their templates. Raises InputError for a read that its structure does not fit."""
    structures, sizes = pack_structures(given), np.empty(len(reads), np.int64)
    read, reason, bases = kernels.measure_templates(reads.segment, reads.read_offsets, structures, sizes)
    if read >= 0:
        length = int(np.diff(reads.read_offsets)[read])
        unlike = f"has {counted(length, 'base')}, but its read structure needs {bases:,}"
        hint = "" if reason != kernels.LONG else ": end it in +T, or in +S"
        raise error_of(reads, raw, read, kernels.REASONS.get(reason, unlike + hint))
    used = {kind for each in given for kind, _ in each.segments if kind in NAMES}
    wanted = [kind for kind in NAMES if kind in used]
    names = np.array([list(f"{kind}{NAMES[kind]}".encode()) for kind in wanted], np.uint8)
    most = sum(2 * length + 2 for each in given for _, length in each.segments if length) + 8 * len(wanted)
    fields = empty(TagFields, {"reads": len(reads), "tag bytes": most * len(reads) + 8})
    kernels.fields_of_structures(reads, structures, names, fields)
    offsets = offsets_of(sizes)
    cut, qualities = (np.empty(offsets[-1], np.uint8) for _ in range(2))
    kernels.copy_templates(reads, structures, offsets, cut, qualities)
    replaced = [name for kind in wanted for name in (NAMES[kind][:2], NAMES[kind][2:])]
    reads = with_fields(reads, fields, (*replaced, *OF_BASES))
    return replace(reads, bases=cut, qualities=qualities, read_offsets=offsets)


def pack_structures(given: tuple[ReadStructure, ...]) -> Structures:
    segments = [segment for each in given for segment in each.segments]
    kinds = np.frombuffer("".join(kind for kind, _ in segments).encode(), np.uint8)
    lengths = np.array([-1 if length is None else length for _, length in segments], np.int64)
    return Structures(kinds, lengths, offsets_of([len(each.segments) for each in given]))


def with_fields(reads: ReadBatch, fields: TagFields, dropped: tuple[str, ...]) -> ReadBatch:
    """Put these fields before the reads' own fields, of which the dropped names are left out."""
    numbers = np.array(sorted(ord(name[0]) << 8 | ord(name[1]) for name in dropped), np.int64)
    size = int(fields.offsets[-1] + reads.tag_offsets[-1])
    joined = empty(TagFields, {"reads": len(reads), "tag bytes": size})
    kernels.join_fields(reads.tags, reads.tag_offsets, fields, numbers, joined)
    return replace(reads, tags=joined.data[: joined.offsets[-1]], tag_offsets=joined.offsets)


def layout_of(first: ReadBatch, given: ReadInput) -> str:
    """Return the UMI of an input's first read, "" without reads. Raises InputError without a (duplex) UMI."""
    if given.umi is None or not len(first):
        return ""
    name = first.names[: first.name_offsets[1]].tobytes().decode("latin-1")
    record = 1 if given.umi.source != "tag" else name
    text = umi_of(first, 0)
    parts = text.split("-")
    if not text:
        raise InputError(given.paths[0], explain(first, 0, kernels.NO_TAG, "", given.umi), record)
    if given.umi.duplex and (len(parts) != 2 or len(parts[0]) != len(parts[1])):
        reason = f"its UMI is {text}, but --umi-duplex needs two parts of equal length"
        raise InputError(given.paths[0], reason, record)
    return text


def umi_of(reads: ReadBatch, read: int) -> str:
    """Return the UMI of a read, "" without one."""
    start, stop = kernels.span_of_umi(reads.tags, reads.tag_offsets, read)
    return reads.tags[start:stop].tobytes().decode("latin-1") if start else ""


def check_umis(reads: ReadBatch, raw: RawBatch, layout: str) -> None:
    """Check that each read of a batch has a UMI of this layout, and mates the same one. Raises InputError."""
    wanted = np.frombuffer(layout.encode("latin-1"), np.uint8)
    read, reason = kernels.check_umis(reads, wanted)
    if read >= 0:
        assert raw.input.umi
        raise error_of(reads, raw, read, explain(reads, read, reason, layout, raw.input.umi))


def count_umis(reads: ReadBatch, metrics: Metrics) -> None:
    """Count pairs and single reads, and those whose UMI has an N."""
    templates, unknown = kernels.count_umis(reads)
    metrics.count("umis", templates)
    metrics.count("umis_with_n", unknown)


def explain(reads: ReadBatch, read: int, reason: int, layout: str, umi: UmiParameters) -> str:
    """Explain why the UMI of a read is rejected."""
    if reason == kernels.NO_TAG and umi.source == "comment":
        return "its comment has no RX:Z: tag"
    if reason != kernels.MIXED:
        return kernels.REASONS[reason]
    return f"its UMI {umi_of(reads, read)} has other lengths than the input's first, {layout}"


def error_of(reads: ReadBatch, raw: RawBatch, read: int, reason: str) -> InputError:
    name = reads.names[reads.name_offsets[read] : reads.name_offsets[read + 1]].tobytes().decode("latin-1")
    path, record = raw.place_of(read, name)
    return InputError(path, reason, record)
