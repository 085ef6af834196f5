"""Open alignment files, match their contigs to the reference, and assign reads to samples."""

import logging
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pysam

from readwarp.call.places.circle import Circle
from readwarp.call.places.strips import StripBases
from readwarp.call.reads.circular import drop_doubles, read_around, sort_reads
from readwarp.call.reads.depth import DepthLimit
from readwarp.errors import InputError, TooLargeError
from readwarp.formats.alignments.aligned import AlignedReads
from readwarp.formats.alignments.decoded import join_parts
from readwarp.formats.alignments.regions import AlignedReader, FileForm, ReadFilter
from readwarp.formats.common.contig_names import explain_strange, listed, other_name, remedy_for
from readwarp.formats.common.files import allow_files
from readwarp.formats.common.names import sample_problem
from readwarp.index.reference import Reference
from readwarp.ragged import replace, take
from readwarp.wording import counted

ENOUGH_RECORDS = 100  # first records of a file that judge its duplicates
logger = logging.getLogger("readwarp")
MAX_SAMPLES = 32767  # range of a scan's `Found.samples`
MAX_READS = ((1 << 31) - 1) // 93  # limit over all samples in a window: sums of their base qualities fit 31 bits
HELD_BASES = 1 << 26  # bases of reads before the depth limit, in windows that are not cut further
REMEDY = "join some with `samtools merge`"


class RegionTooDeepError(TooLargeError):
    """Region with more reads than memory holds; ask for a smaller one."""

    def __init__(self, count: Callable[[], int]):
        """Create the error. count: returns the bases of the region's reads."""
        super().__init__()
        self.count = count


@dataclass(frozen=True, slots=True)
class AlignmentSource:
    """Open alignment file."""

    reader: AlignedReader
    contigs: dict[int, int]  # reference contig -> number in the file
    keep: ReadFilter  # its read groups by sample of this file ...
    samples: np.ndarray  # ... and the index of each of these samples among all (uint16)
    axis: StripBases | None = None  # contig 0, where contigs share a strip

    def locate(self, contig: int, position: int) -> tuple[str, int] | None:
        """Return the file's name of a contig, or of the strip's contig at the position, and the position there."""
        if self.axis:
            strip = self.axis.strip
            row = int(strip.rows_of(np.array(position)))
            contig, position = strip.contigs[row], position - int(strip.origins[row])
        return (self.reader.names[self.contigs[contig]], position) if contig in self.contigs else None

    def sample_of(self, record: pysam.AlignedSegment) -> int | None:
        """Return the sample of a record by its read group, as an index among all; None if it is not called."""
        group = str(record.get_tag("RG")) if record.has_tag("RG") else ""
        own = self.keep.samples
        number = next((i for i, groups in enumerate(own) if group in groups), None) if own else 0
        return None if number is None else int(self.samples[number])

    def parts(self, contig: int, start: int, stop: int) -> Iterator[AlignedReads]:
        """Read parts like `AlignedReader.parts`, with the reference's contig numbers and sample indices among all.

        On a strip, all reads of its contigs.
        """
        for part in self._parts(contig, start, stop):
            yield replace(part, sample=self.samples[part.sample])

    def _parts(self, contig: int, start: int, stop: int) -> Iterator[AlignedReads]:
        if self.axis and isinstance(circle := self.axis.strip, Circle):
            if (own := circle.stretch.contig) in self.contigs:
                yield from read_around(self.reader, self.contigs[own], circle, self.axis, (start, stop), self.keep)
        elif self.axis:
            for run, origins in self.axis.strip.runs(self.contigs):
                yield from self.reader.parts_of_contigs(run, origins, self.keep)
        elif contig in self.contigs:
            yield from self.reader.parts(self.contigs[contig], start, stop, self.keep)


@dataclass(frozen=True, slots=True)
class AlignmentFiles:
    """Open alignment files, and the samples to call in them; files of one sample are read as one."""

    sources: tuple[AlignmentSource, ...]
    samples: tuple[str, ...]

    @property
    def memory(self) -> int:
        """Return the bytes that open files take."""
        return sum(source.reader.memory for source in self.sources)

    def rest(self) -> None:
        """Stop reader processes before this one is forked."""
        for source in self.sources:
            source.reader.rest()

    def along(self, axis: StripBases) -> "AlignmentFiles":
        """Move the files to the axis of a strip, as contig 0."""
        return replace(self, sources=tuple(replace(source, axis=axis) for source in self.sources))

    def read(self, place: tuple[int, int, int], limit: DepthLimit, max_bases: int | None = None) -> AlignedReads:
        """Read the usable reads that overlap a place, sorted by position, then in the order of files.

        place: contig of the reference, start, stop. Raises InputError where a file is damaged or not sorted, and
        RegionTooDeepError where reads have more than `max_bases`, and more than half of that within the depth limit.
        """
        contig, start, stop = place
        parts, bases = list[AlignedReads](), 0
        room = max_bases or HELD_BASES
        for source in self.sources:
            for part in source.parts(contig, start, stop):
                parts.append(part)
                bases += part.bases.size
                if bases > room:
                    parts = [limit.limit(join_parts(parts, contig, start, stop))]
                    bases = parts[0].bases.size
                    if max_bases and bases > max_bases // 2:
                        raise RegionTooDeepError(partial(self._count, place, limit.max_depth))
                    room = max_bases or max(HELD_BASES, 2 * bases)
        reads = limit.limit(join_parts(parts, contig, start, stop))
        if len(reads) > MAX_READS:
            name = self.sources[0].reader.path if len(self.sources) == 1 else f"all {len(self.sources)} files"
            reason = f"more than {MAX_READS:,} reads in a window at position {start + 1:,} of contig {contig + 1}"
            raise InputError(name, f"{reason}: lower --max-depth")
        axis = self.sources[0].axis
        if axis and isinstance(circle := axis.strip, Circle):
            return sort_reads(drop_doubles(reads, circle))
        return take(reads, "reads", np.argsort(reads.position, kind="stable")) if len(self.sources) > 1 else reads

    def _count(self, place: tuple[int, int, int], max_depth: int) -> int:
        """Return the `max_bases` with which `read` succeeds."""
        bases = sum(part.bases.size for source in self.sources for part in source.parts(*place))
        return min(bases, 2 * max_depth * len(self.samples) * (place[2] - place[1]))

    def facts(self) -> list[dict[str, object]]:
        """Return the metrics' facts about each file."""
        return [
            {"file": str(source.reader.path), "samples": [self.samples[number] for number in source.samples.tolist()]}
            for source in self.sources
        ]


@contextmanager
def open_readers(
    paths: Sequence[Path], reference: Path, threads: int, form: FileForm
) -> Generator[tuple[AlignedReader, ...], None, None]:
    """Open alignment files. `reference`: for CRAM. Raises InputError, also if the system allows too few open files."""
    allow_files(len(paths) + 3 * threads, REMEDY)  # a thread that reads CRAM opens the file, a copy, the reference
    with ExitStack() as stack:
        yield tuple(stack.enter_context(closing(AlignedReader(path, reference, threads, form))) for path in paths)


def match_files(
    readers: Sequence[AlignedReader], reference: Reference, wanted: Sequence[str], keep: ReadFilter, whole: bool
) -> AlignmentFiles:
    """Match the files to the reference and the samples to call. A file without these samples is not read.

    See `choose_samples` and `match_contigs`, which raise InputError.
    """
    contigs = [match_contigs(reader, reference, whole) for reader in readers]
    names = choose_samples(readers, wanted)
    sources = []
    for reader, numbers in zip(readers, contigs, strict=True):
        held = samples_of(reader)
        own = [number for number, name in enumerate(names) if name in held]
        groups = tuple(held[names[number]] for number in own) if len(held) > 1 else ()
        if own:
            sources.append(AlignmentSource(reader, numbers, replace(keep, samples=groups), np.array(own, np.uint16)))
    return AlignmentFiles(tuple(sources), names)


def warn_of_copies(readers: Sequence[AlignedReader], has_fractions: bool) -> None:
    """Log a warning for a file most of whose first reads are marked as duplicates, or, for fractions, not consensus."""
    for reader in readers:
        if has_fractions and 2 * reader.first_copies > reader.first_records:
            text = (
                "%s: its reads have molecules (MI) but are not consensus reads, so copying errors look like variants: "
            )
            logger.warning(f"{text}run `readwarp consensus`, then align and call its output", reader.path)
        if reader.first_records >= ENOUGH_RECORDS and 2 * reader.first_duplicates > reader.first_records:
            text = "%s: %s of its first %s are marked as duplicates and left out: if they come from amplicons, "
            text += "unmark them (`samtools view --remove-flags DUP`) or align without marking, and give --primers"
            read = counted(reader.first_records, "read")
            logger.warning(text, reader.path, f"{reader.first_duplicates:,}", read)


def samples_of(reader: AlignedReader) -> dict[str, tuple[str, ...]]:
    """Return the read groups of each sample; a file whose header names no sample has one named after the file."""
    return reader.samples() or {reader.path.name.split(".")[0]: ()}


def names_of(readers: Sequence[AlignedReader]) -> list[str]:
    """Return the names of all samples, in the order of files and headers; samples of one name are one."""
    return list(dict.fromkeys(name for reader in readers for name in samples_of(reader)))


def choose_samples(readers: Sequence[AlignedReader], wanted: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the samples to call: those `wanted`, or all, in the order of files and headers. Raises InputError.

    An entry of `wanted` is a name, which may have commas, or several separated by commas.
    """
    known = dict.fromkeys(names_of(readers))
    asked = (part for text in wanted for part in ([text] if text in known else text.split(",")))
    names = list(dict.fromkeys(asked) or known)
    place = readers[0].path if len(readers) == 1 else f"all {len(readers)} files"
    for name in names:
        if name not in known:
            raise InputError(place, f"no read group of sample {name!r} (there are: {', '.join(known)})")
        if problem := sample_problem(name):
            raise InputError(place, f"the name of its sample {name} {problem}")
    if len(names) > MAX_SAMPLES:
        raise InputError(place, f"{len(names):,} samples: at most {MAX_SAMPLES:,} can be called together")
    return tuple(names)


def match_contigs(reader: AlignedReader, reference: Reference, whole: bool = True) -> dict[int, int]:
    """Map reference contigs to numbers in the file, by name.

    Raises InputError if the length or M5 of a contig differs, if no contig is in both, and, when the `whole` reference
    is called, if a contig with reads is not in the reference: its reads would be dropped silently.
    """
    numbers = {name: i for i, name in enumerate(reference.names)}
    out, strange = {}, None
    for i, line in enumerate(reader.header.to_dict().get("SQ", [])):
        name = line["SN"]
        if name in numbers:
            _check_contig(reader, line, reference, numbers[name])
            out[numbers[name]] = i
        elif whole and strange is None and reader.has_reads(i):
            strange = name
    if not out:
        raise InputError(reader.path, _explain_other_names(reader, reference))
    if strange is not None:
        raise InputError(reader.path, f"has reads on contig {strange!r}, {explain_strange(strange, reference.names)}")
    return out


def _explain_other_names(reader: AlignedReader, reference: Reference) -> str:
    """Explain why no contig of a file is in the reference: other names, or another reference."""
    text = f"none of its contigs ({listed(reader.names)}) is in the reference, which has {listed(reference.names)}"
    lengths = dict(zip(reference.names, np.diff(reference.contig_offsets).tolist(), strict=True))
    own = zip(reader.names, reader.lengths, strict=True)
    same = [(name, length, other) for name, length in own if (other := other_name(name, lengths)) is not None]
    if not same:
        return f"{text}: it was aligned to a different reference"
    for name, length, other in same:
        if length != lengths[other]:
            bases = f"whose {name!r} has {length} bases, {other!r} here has {lengths[other]}"
            return f"{text}: it was aligned to a different reference, {bases}"
    return f"{text}: {remedy_for('alignments', same[0][0], same[0][2], lengths)}"


def _check_contig(reader: AlignedReader, line: dict[str, Any], reference: Reference, contig: int) -> None:
    name, own = line["SN"], int(np.diff(reference.contig_offsets)[contig])
    md5 = reference.md5[contig]
    if line["LN"] != own:
        raise InputError(reader.path, f"its contig {name!r} has {line['LN']} bases, in the reference {own}")
    if line.get("M5", md5).lower() != md5:
        raise InputError(reader.path, f"its contig {name!r} has another sequence (M5) than in the reference")
