"""Aligned reads of a region of a BAM or CRAM file as arrays.

BAM is read in bulk: the index tells where to begin, isal decompresses blocks, and compiled code decodes records. A CRAM
region goes the same way once htslib has written it as uncompressed BAM.
"""

import logging
import os
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Annotated, BinaryIO, NamedTuple

import numpy as np
import pysam
from numpy import ndarray

from readwarp.errors import InputError
from readwarp.formats.alignments import decoded, scan
from readwarp.formats.alignments.aligned import AlignedReads
from readwarp.formats.alignments.bam_file import BamFile, BamPiece, NoBlockError
from readwarp.formats.alignments.bam_index import Watch, bam_indexes, load_bam_index, other_file
from readwarp.formats.alignments.checks import REASONS, SIZE, UNSORTED, HeaderLimits, header_from, name_of
from readwarp.formats.alignments.crai import contigs_of_cram
from readwarp.formats.alignments.cram import CramFile, is_cram
from readwarp.formats.alignments.layout import MAX_RECORD, NAME
from readwarp.formats.alignments.scan import DecodedRecords, Wanted
from readwarp.formats.alignments.spool import is_stream, scan_file, spool
from readwarp.formats.common.bgzf import EOF_BLOCK, tail_of
from readwarp.formats.common.index import BgzfIndex
from readwarp.formats.common.qualities import PHRED64, SHIFT, TOO_LOW, explain_phred64, from_phred64
from readwarp.formats.common.silence import quiet_htslib
from readwarp.ragged import empty, replace, take
from readwarp.rules.flags import DUPLICATE, FAILED, SECONDARY, UNMAPPED
from readwarp.system.scratch import ScratchFolder

ENOUGH_RECORDS = 1000  # whose qualities show their encoding
EXCLUDED = UNMAPPED | SECONDARY | FAILED | DUPLICATE
BEYOND_CONTIGS = 1 << 31  # beyond any position
UNPLACED = ("*", 0, 1)  # in place of a place: the records without one

logger = logging.getLogger("readwarp")


@dataclass(frozen=True, slots=True)
class ReadFilter:
    """Criteria for usable reads."""

    min_mapping_quality: int = 0
    excluded_flags: int = EXCLUDED
    samples: tuple[tuple[str, ...], ...] = ()  # read groups of each sample; empty: every read is of sample 0


@dataclass(frozen=True, slots=True)
class FileForm:
    """Facts about a file known in advance."""

    phred: int | None = None  # 33 or 64, of the qualities; None: 33, but an error if they look like 64
    scan: bool = False  # read a BAM file without an index through; otherwise it is an error


class RawRecords(NamedTuple):
    """Whole records of a file, in file order."""

    data: Annotated[ndarray, "uint8 [bytes]"]
    places: Annotated[ndarray, "int64 [records]"]  # start of each
    is_aligned: Annotated[ndarray, "bool [records]"]  # mapped, with bases and a CIGAR that fits bases and contig
    stops: Annotated[ndarray, "int64 [records]"]  # end on the contig, at least one base after the position
    operations: Annotated[ndarray, "int64 [records]"]  # in the CIGARs of aligned records; 0 for others


class AlignedReader:
    """Sorted alignments, open for reading regions from any thread: an indexed BAM or CRAM file, or a stream."""

    def __init__(self, path: Path, reference: Path | None = None, threads: int = 1, form: FileForm = FileForm()):
        """Open a file. path: "-" is stdin. stdin and named pipes are first read to their end, see `spool`.

        reference: for CRAM, in any format. Raises InputError if the file is damaged, unsorted or not indexed.
        """
        self.path, self._form = Path("stdin") if str(path) == "-" else path, form
        self._folder: ScratchFolder | None = None
        self._file: BinaryIO | None = None
        self._bam: BamFile | None = None
        self._index: BgzfIndex | None = None
        self._cram: CramFile | None = None
        self._again: pysam.AlignmentFile | None = None  # for `fetch`
        self.first_records = self.first_duplicates = self.first_copies = 0  # among those examined on opening ...
        self.first_length = 0  # ... and their median length in bases
        try:
            self._open(path, () if reference is None else (str(reference),), threads)
        except BaseException:
            self.close()
            raise

    def _open(self, path: Path, given: Sequence[str], threads: int) -> None:
        if is_stream(path):
            self._file, self._index = spool(path, str(self.path), given, threads)
        elif is_cram(path):
            self._cram_contigs, self._folder = contigs_of_cram(path), ScratchFolder()
            self._cram = CramFile(path, given, self._folder.path)
            self.header = header_from(self.path, self._cram.text)
        else:
            self._file = path.open("rb")
            if tail_of(self._file) != EOF_BLOCK:
                raise InputError(path, "truncated: no BGZF EOF marker")
        if self._file:
            self._bam = BamFile(self._file, self.path)
            if not self._bam.header.names:
                raise InputError(self.path, "names no contig")
            self.header = header_from(self.path, self._bam.header.text)
        self.names: tuple[str, ...] = self.header.references
        self.lengths: tuple[int, ...] = self.header.lengths
        self._known = HeaderLimits(np.array(self.lengths, np.int64))
        lines = self.header.to_dict()
        self._samples = decoded.read_groups_of(lines)
        if lines.get("HD", {}).get("SO") in ("unsorted", "queryname"):
            raise InputError(self.path, "is not sorted by coordinate; run `samtools sort` first")
        if self._bam and self._index is None:
            is_absent = self._form.scan and not any(map(Path.exists, bam_indexes(path)))
            self._index = self._make_index() if is_absent else load_bam_index(path, self._bam)
        self._look_at_first()

    def _make_index(self) -> BgzfIndex:
        logger.info("%s has no index: scanning the whole file first (samtools index avoids this)", self.path)
        assert self._file is not None
        os.lseek(self._file.fileno(), 0, os.SEEK_SET)
        return scan_file(self._file, str(self.path))

    def _look_at_first(self) -> None:
        """Raise InputError if the first records' qualities show that they are not Phred+33, unless that is given."""
        try:
            with quiet_htslib(), self._open_first() as file:
                records = list(islice(file.fetch(until_eof=True), ENOUGH_RECORDS))
                self.first_records = len(records)
                self.first_duplicates = sum(r.is_duplicate and not r.has_tag("MI") for r in records)
                self.first_copies = sum(r.has_tag("MI") and not r.has_tag("cD") for r in records)  # copies of molecules
                self.first_length = int(np.median([record.query_length for record in records] or [0]))
        except (OSError, ValueError, InputError):  # damage is reported where it is read
            return
        known = [np.frombuffer(row, np.uint8) for record in records if (row := record.query_qualities) is not None]
        is_asked = self._form.phred is None
        if is_asked and (reason := explain_phred64(np.concatenate([*known, np.empty(0, np.uint8)]))):
            raise InputError(self.path, reason)

    @contextmanager
    def _open_first(self) -> Iterator[pysam.AlignmentFile]:
        """Open a file that begins with the first records."""
        if self._cram is None:
            with self._open_by_pysam() as file:
                yield file
            return
        with self._cram.reading(None, ENOUGH_RECORDS) as path, pysam.AlignmentFile(str(path)) as file:
            yield file

    def _open_by_pysam(self) -> pysam.AlignmentFile:
        """Open BAM in pysam, under a name for which htslib finds no index: it would trust it."""
        assert self._file is not None
        with quiet_htslib():
            try:
                return pysam.AlignmentFile(f"/proc/self/fd/{self._file.fileno()}")
            except ValueError as error:
                raise InputError(self.path, "is neither BAM nor CRAM, or names no contig") from error
            except OSError as error:
                raise InputError(self.path, f"cannot be read as BAM or CRAM ({error.strerror or error})") from error

    def close(self) -> None:
        if self._again:
            self._again.close()
        if self._cram:
            self._cram.close()
        if self._file:
            self._file.close()
        if self._folder:
            self._folder.close()

    def rest(self) -> None:
        """Release the reading process; it is restarted on demand."""
        if self._cram:
            self._cram.close()

    @property
    def fasta(self) -> str | None:
        """The reference of a CRAM file, in htslib's form."""
        return self._cram.reference.fasta if self._cram else None

    @property
    def is_stream(self) -> bool:
        """Whether the file cannot be reopened."""
        return is_stream(self.path) or str(self.path) == "stdin"

    def fetch(self, name: str, start: int, stop: int) -> Iterator[pysam.AlignedSegment]:
        """Yield all records that overlap [start, stop) of a contig, as in the file; in one thread at a time."""
        for record in self._cram.fetch((name, start, stop)) if self._cram else self._fetch(name, start, stop):
            if self._form.phred == PHRED64 and record.query_qualities is not None:
                record.query_qualities = array("B", [quality - SHIFT for quality in record.query_qualities])
            yield record

    def _fetch(self, name: str, start: int, stop: int) -> Iterator[pysam.AlignedSegment]:
        self._again = self._again or self._open_by_pysam()
        contig = self.names.index(name)
        if (offset := self._start_of(contig, start)) is None:
            return
        self._again.seek(offset)
        for record in self._again.fetch(until_eof=True):
            if record.reference_id != contig or record.reference_start >= stop:
                return
            if (record.reference_end or record.reference_start + 1) > start:
                yield record

    def has_reads(self, contig: int) -> bool:
        """Return whether a contig (its number in this file's header) has any read."""
        return contig in self._cram_contigs if self._index is None else self._index.has_records(contig)

    def samples(self) -> dict[str, tuple[str, ...]]:
        """Sample name -> its read groups, from the header."""
        return self._samples

    @property
    def memory(self) -> int:
        """Bytes of the index."""
        return 0 if self._index is None else sum(starts.nbytes for starts in self._index.starts)

    def read(self, contig: int, start: int, stop: int, keep: ReadFilter) -> AlignedReads:
        """Return usable reads that overlap [start, stop) of a contig (its number in this file's header), in file order.

        Raises InputError if the file is damaged or unsorted.
        """
        return decoded.join_parts(list(self.parts(contig, start, stop, keep)), contig, start, stop)

    def parts(self, contig: int, start: int, stop: int, keep: ReadFilter) -> Iterator[AlignedReads]:
        """Yield the result of `read` part by part as it is decoded."""
        wanted = self._wanted(range(contig, contig + 1), start, stop, keep)
        return (reads for reads, _ in self._parts(wanted))

    def parts_of_contigs(self, contigs: range, origins: np.ndarray, keep: ReadFilter) -> Iterator[AlignedReads]:
        """Yield whole contigs like `parts`, placed one after another on one axis. origins: places of their first bases.

        contigs: numbers in this file's header. origins: int64 [contigs].
        """
        for reads, contig in self._parts(self._wanted(contigs, 0, max(self.lengths[i] for i in contigs), keep)):
            by, unassigned_by = (origins[own - contigs.start] for own in contig)
            yield decoded.place_reads(reads, by, unassigned_by)

    def records(self, contigs: range, start: int, stop: int) -> Iterator[RawRecords]:
        """Yield records that begin in [start, stop) of a contig, and aligned ones that reach into it; or whole contigs.

        contigs: numbers in this file's header. A contig's last record may lie beyond its end, if that is `stop`.
        """
        stop = BEYOND_CONTIGS if stop >= self.lengths[contigs[-1]] else stop
        wanted = self._wanted(contigs, start, stop, ReadFilter(excluded_flags=UNMAPPED))._replace(with_unusable=True)
        for data, found in self._found(wanted):
            yield RawRecords(data, found.places, found.samples >= 0, found.stops, found.operations)

    def unplaced(self) -> Iterator[RawRecords]:
        """Yield the records without a contig, which follow all others. Raises InputError."""
        if self._cram:
            with self._cram.reading([UNPLACED]) as path, path.open("rb") as file:
                bam = BamFile(file, self.path)
                yield from self._unplaced(bam, bam.first)
        else:
            assert self._bam and self._index
            yield from self._unplaced(self._bam, self._index.stop or self._bam.first)

    def _unplaced(self, bam: BamFile, offset: int) -> Iterator[RawRecords]:
        reader, rest = bam.read_from(offset), 0
        left = 0
        while piece := reader.next(rest):
            data = piece.data.copy()  # several of these may be in use at the same time
            places = np.empty(data.size // NAME + 1, np.int64)
            count, rest, state = scan.find_unplaced(data, self._known, places)
            left = data.size - rest
            if state != scan.MORE or left > MAX_RECORD:
                raise self._error(state or SIZE, data, rest, "after the last contig")
            yield RawRecords(data, places[:count], np.zeros(count, bool), *np.zeros((2, count), np.int64))
        if left:
            raise InputError(self.path, "truncated: ends within a record")

    def _wanted(self, contigs: range, start: int, stop: int, keep: ReadFilter) -> Wanted:
        groups, samples = decoded.group_table(tuple(self.samples().values()), keep.samples)
        return Wanted(
            contig=contigs.start,
            lengths=np.array([self.lengths[contig] for contig in contigs], np.int64),
            start=start,
            stop=stop,
            excluded_flags=keep.excluded_flags,
            min_mapping_quality=keep.min_mapping_quality,
            groups=groups,
            samples=samples,
            with_unusable=False,
        )

    def _parts(self, wanted: Wanted) -> Iterator[tuple[AlignedReads, decoded.RecordContigs]]:
        for data, found in self._found(wanted):
            reads, contigs = decoded.decode(data, found), decoded.contigs_of(data, found, wanted)
            yield self._from_phred64(reads, contigs) if self._form.phred == PHRED64 else reads, contigs

    def _found(self, wanted: Wanted) -> Iterator[tuple[ndarray, DecodedRecords]]:
        """Yield bytes of whole records (uint8), valid until the next ones, and the wanted records among them."""
        watch, last = self._watch(wanted), -1
        left = 0
        piece, more = self._begin(wanted, watch)
        while piece:
            found = empty(DecodedRecords, {"reads": piece.data.size // NAME + 1})
            count, rest, last, state = scan.find_wanted(piece.data, last, wanted, self._known, found)
            if state not in (scan.MORE, scan.DONE):
                raise self._error(state, piece.data, rest, self._near(wanted, last))
            found = take(found, "reads", slice(0, count))
            if watch and count:
                usable = found.samples >= 0
                contigs = decoded.contigs_of(piece.data, found, wanted).reads
                watch.check(piece, found.places[usable], found.stops[usable], contigs)
            if watch and state == scan.DONE:
                watch.end(piece, rest)
            yield piece.data, found
            if state == scan.DONE:
                return
            left = piece.data.size - rest
            if left > MAX_RECORD:
                raise self._error(SIZE, piece.data, rest, self._near(wanted, last))
            piece = more(rest)
        if left:
            raise InputError(self.path, "truncated: ends within a record")

    def _watch(self, wanted: Wanted) -> Watch | None:
        """Return the watch over an index that was read from a file."""
        if self._index is None or self._index.path is None or self._bam is None:
            return None
        return Watch(self._index, self._bam, range(wanted.contig, wanted.contig + wanted.lengths.size))

    def _error(self, state: int, data: ndarray, at: int, place: str) -> InputError:
        record = place if state in (SIZE, UNSORTED) else f"{name_of(data, at)} {place}"
        return InputError(self.path, REASONS[state], record)

    def _near(self, wanted: Wanted, last: int) -> str:
        """Describe a location. last: the place of a record, see `scan`."""
        contig, position = divmod(last, 1 << scan.CONTIG_SHIFT) if last >= 0 else (wanted.contig, 0)
        return f"near {self.names[contig]}:{position + 1}"

    def _from_phred64(self, reads: AlignedReads, contigs: decoded.RecordContigs) -> AlignedReads:
        qualities, bad = from_phred64(reads.qualities)
        if bad >= 0:
            read = np.searchsorted(reads.read_offsets, bad, side="right") - 1
            raise InputError(self.path, TOO_LOW, f"near {self.names[contigs.reads[read]]}:{reads.position[read] + 1}")
        return replace(reads, qualities=qualities)

    def _begin(self, wanted: Wanted, watch: Watch | None) -> tuple[BamPiece | None, Callable[[int], BamPiece | None]]:
        """Return the bytes from the first record that may be wanted, and `PieceReader.next` for more."""
        contigs = range(wanted.contig, wanted.contig + wanted.lengths.size)
        if self._cram:
            places = [(self.names[i], wanted.start, min(wanted.stop, self.lengths[i])) for i in contigs]
            return BamPiece(np.frombuffer(self._cram.records(places), np.uint8), *np.zeros((2, 0), np.int64)), _no_more
        assert self._index is not None and self._bam is not None
        offsets = ((contig, self._start_of(contig, wanted.start)) for contig in contigs)
        contig, offset = next(((contig, offset) for contig, offset in offsets if offset is not None), (-1, None))
        if offset is None:
            if watch and not self._form.scan:
                watch.absent()
            return None, _no_more
        reader = self._bam.read_from(offset, self._end_of(contigs[-1], wanted.stop))
        try:
            piece = reader.next()
        except NoBlockError as error:
            raise (other_file(self._index.path, self._bam) if self._index.path else error) from error
        if watch and piece:
            watch.begin(piece, contig)
        return piece, reader.next

    def _start_of(self, contig: int, position: int) -> int | None:
        """Return the virtual offset at or before the first record of a contig that reaches a position; None: there is
        none.

        If only some regions are read, each begins at the offset before, so that the reads before it reveal an index
        that points too far. Otherwise they are read anyway, for the region before.
        """
        assert self._index is not None
        offset = self._index.start_of(contig, position)
        if offset is None or self._form.scan:
            return offset
        before = self._index.before(contig, offset)
        return offset if before is None else before

    def _end_of(self, contig: int, position: int) -> int:
        """Return the virtual offset at or before the first record that begins at the position or after it."""
        assert self._index is not None
        later = range(contig + 1, len(self._index.starts))
        starts = (start for i in later if (start := self._index.start_of(i, 0)) is not None)
        at = self._index.start_of(contig, position) if position < self.lengths[contig] else None
        return at or next(starts, self._index.stop or 0)


def _no_more(rest: int) -> None:
    """Return nothing, after a piece that is everything."""
