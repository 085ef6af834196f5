"""Aligned reads of a region of a BAM or CRAM file as arrays.

BAM is read in bulk: the index tells where to begin, isal decompresses blocks, and compiled code decodes records. A CRAM
region goes the same way once htslib has written it as uncompressed BAM.
"""

import errno
import logging
import os
import tempfile
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, BinaryIO, NamedTuple

import numpy as np
import pysam
from isal import igzip

from readwarp.batches import AlignedReads
from readwarp.errors import InputError
from readwarp.formats.alignments import decode_kernels as records
from readwarp.formats.alignments.decode_kernels import Found, Wanted
from readwarp.formats.alignments.header import parse_header
from readwarp.formats.alignments.layout import CONTIG, MAX_RECORD, NAME, POSITION, values_at
from readwarp.formats.alignments.samtools import reference_in
from readwarp.formats.alignments.spool import is_stream, scan_file, spool
from readwarp.formats.common.bgzf import blocks_of
from readwarp.formats.common.compressed import BROKEN, GZIP_MAGIC
from readwarp.formats.common.index import BgzfIndex, contigs_of_cram, has_bam_index, load_bam_index
from readwarp.formats.common.qualities import PHRED64, SHIFT, TOO_LOW, explain_phred64, from_phred64
from readwarp.ragged import concatenate, empty, offsets_of, replace, take
from readwarp.rules.hashes import hash_of
from readwarp.scratch import ScratchFolder

CHUNK, FIRST_CHUNK = 1 << 18, 1 << 16  # compressed bytes read at a time; the first ones of a region are fewer
UNPLACED = b"\xff" * 4  # contig -1
DAMAGE = {
    records.UNSORTED: "reads are not sorted by position",
    records.BROKEN: "damaged BAM record",
    records.MISFIT: "the CIGAR of a read does not fit its bases",
    records.BEYOND: "a read is aligned beyond its contig's end",
}
ENOUGH_RECORDS = 1000  # whose qualities tell how they are encoded
EXCLUDED = 0x4 | 0x100 | 0x200 | 0x400  # unmapped, secondary, failed quality control, duplicate

logger = logging.getLogger("readwarp")


@dataclass(frozen=True, slots=True)
class ReadFilter:
    """Which reads are usable."""

    min_mapping_quality: int = 0
    excluded_flags: int = EXCLUDED
    samples: tuple[tuple[str, ...], ...] = ()  # read groups of each sample; empty: every read is of sample 0


@dataclass(frozen=True, slots=True)
class Form:
    """What is known of a file beforehand."""

    phred: int | None = None  # 33 or 64, of the qualities; None: 33, unless they look like 64, which is an error
    scan: bool = False  # a BAM file without an index is read through; otherwise it is an error


class AlignedReader:
    """Sorted alignments, open for reading regions from any thread: an indexed BAM or CRAM file, or a stream."""

    def __init__(self, path: Path, reference: Path | None = None, threads: int = 1, form: Form = Form()):
        """`path`: "-" is stdin. stdin and named pipes are read to their end first, see `spool`.

        `reference`: for CRAM, in any format. Raises InputError where the file is damaged, not sorted or not indexed.
        """
        self.path, self._form = Path("stdin") if str(path) == "-" else path, form
        self._folder: ScratchFolder | None = None
        self._file: BinaryIO | None = None
        self._again: pysam.AlignmentFile | None = None  # for `fetch`
        self.first_records = self.first_duplicates = 0  # of those that were looked at when the file was opened
        try:
            self._open(path, reference, threads)
        except BaseException:
            self.close()
            raise

    def _open(self, path: Path, reference: Path | None, threads: int) -> None:
        self._index: BgzfIndex | None = None
        self._fasta: str | None = None
        if is_stream(path):
            self._file, self._index = spool(path, str(self.path), lambda: self._prepare_fasta(reference), threads)
        elif _is_cram(path):
            self._fasta = self._prepare_fasta(reference)
        first = self._read_header()
        if self.is_cram:
            self._cram_contigs = contigs_of_cram(path)
        elif self._index is None:
            self._file = path.open("rb")
            if self._form.scan and not has_bam_index(path):
                logger.info("%s has no index, so it is read through once before calling begins", self.path)
                self._index = scan_file(self._file, str(self.path))
            else:
                self._index = load_bam_index(path)
                self._check_index(self._index, first)
        if self._form.phred is None:
            self._check_encoding()

    def _prepare_fasta(self, reference: Path | None) -> str | None:
        """The reference as FASTA that htslib can use."""
        if reference is None:
            return None
        self._folder = ScratchFolder()
        return reference_in(str(reference), self._folder.path)

    def _read_header(self) -> int:
        """Read the header -> where the first record of a BAM file begins (virtual offset)."""
        with self._open_by_pysam() as file:
            self.header, self.is_cram = file.header, file.is_cram
            self.names: tuple[str, ...] = self.header.references
            self.lengths: tuple[int, ...] = self.header.lengths
            lines = self.header.to_dict()
            self._samples = _read_groups_of(lines)
            if lines.get("HD", {}).get("SO") in ("unsorted", "queryname"):
                raise InputError(self.path, "is not sorted by coordinate (`samtools sort` does that)")
            if not self.is_cram and not file.is_bam:
                raise InputError(self.path, "is neither BAM nor CRAM (SAM comes through stdin: `-`)")
            return 0 if self.is_cram or self._file else int(file.tell())

    def _check_encoding(self) -> None:
        """Raises InputError if the qualities of the first records show that they are not Phred+33."""
        verbosity = pysam.set_verbosity(0)
        try:
            with self._open_by_pysam() as file:
                records = list(islice(file.fetch(until_eof=True), ENOUGH_RECORDS))
                rows = [record.query_qualities for record in records]
                self.first_records, self.first_duplicates = len(records), sum(r.is_duplicate for r in records)
        except (OSError, ValueError):  # damage is reported where it is read
            return
        finally:
            pysam.set_verbosity(verbosity)
        known = [np.frombuffer(row, np.uint8) for row in rows if row is not None]
        if reason := explain_phred64(np.concatenate([*known, np.empty(0, np.uint8)])):
            raise InputError(self.path, reason)

    def _check_index(self, index: BgzfIndex, first: int) -> None:
        """An index of another or an older file would hide reads. After its last read, none may have a position."""
        if index.stop is None and any(map(index.has_records, range(len(index.starts)))):
            return  # old tools wrote indexes that do not tell
        stop = first if index.stop is None else index.stop
        assert self._file is not None
        is_other = len(index.starts) > len(self.names) or os.pread(self._file.fileno(), 2, stop >> 16) != GZIP_MAGIC
        data = b""
        for piece in () if is_other else self._bam_bytes(stop):
            data += piece
            if len(data) >= 8:
                break
        if is_other or (data and data[4:8] != UNPLACED):
            raise InputError(index.path, f"belongs to another file than {self.path}, or is older")

    def _open_by_pysam(self) -> pysam.AlignmentFile:
        verbosity = pysam.set_verbosity(0)
        try:
            if self._file:
                self._file.seek(0)
            return pysam.AlignmentFile(self._file or str(self.path), reference_filename=self._fasta)
        except ValueError as error:
            raise InputError(self.path, "is neither BAM nor CRAM, or names no contig") from error
        except OSError as error:
            if error.errno == errno.ENOEXEC:  # what htslib says of other formats
                raise InputError(self.path, "is neither BAM nor CRAM") from error
            raise InputError(self.path, f"cannot be read as BAM or CRAM ({error.strerror or error})") from error
        finally:
            pysam.set_verbosity(verbosity)

    def close(self) -> None:
        if self._again:
            self._again.close()
        if self._file:
            self._file.close()
        if self._folder:
            self._folder.close()

    @property
    def is_stream(self) -> bool:
        """Whether the file cannot be opened again."""
        return is_stream(self.path) or str(self.path) == "stdin"

    def fetch(self, name: str, start: int, stop: int) -> Iterator[pysam.AlignedSegment]:
        """All records that overlap [start, stop) of a contig, as they are in the file; in one thread at a time."""
        if self._again is None:
            self._again = pysam.AlignmentFile(str(self.path), reference_filename=self._fasta)
        for record in self._again.fetch(name, start, stop):
            if self._form.phred == PHRED64 and record.query_qualities is not None:
                record.query_qualities = array("B", [quality - SHIFT for quality in record.query_qualities])
            yield record

    def has_reads(self, contig: int) -> bool:
        """Whether a contig has any read (its number in this file's header)."""
        return contig in self._cram_contigs if self._index is None else self._index.has_records(contig)

    def samples(self) -> dict[str, tuple[str, ...]]:
        """Sample name -> its read groups, from the header."""
        return self._samples

    @property
    def memory(self) -> int:
        """Bytes that the index takes."""
        return 0 if self._index is None else sum(starts.nbytes for starts in self._index.starts)

    def read(self, contig: int, start: int, stop: int, keep: ReadFilter) -> AlignedReads:
        """Usable reads that overlap [start, stop) of a contig (its number in this file's header), in file order.

        Raises InputError where the file is damaged or not sorted.
        """
        return join_parts(list(self.parts(contig, start, stop, keep)), contig, start, stop)

    def parts(self, contig: int, start: int, stop: int, keep: ReadFilter) -> Iterator[AlignedReads]:
        """As `read`, part by part as they are decoded."""
        wanted = self._wanted(range(contig, contig + 1), start, stop, keep)
        return (reads for reads, _ in self._parts(wanted))

    def parts_of_contigs(self, contigs: range, origins: np.ndarray, keep: ReadFilter) -> Iterator[AlignedReads]:
        """As `parts`, of whole contigs that follow one another, placed on one axis. Origins: their first bases' places.

        contigs: numbers in this file's header. origins: int64 [contigs].
        """
        for reads, contig in self._parts(self._wanted(contigs, 0, max(self.lengths[i] for i in contigs), keep)):
            yield place_reads(reads, origins[contig.reads - contigs.start], origins[contig.unassigned - contigs.start])

    def _wanted(self, contigs: range, start: int, stop: int, keep: ReadFilter) -> Wanted:
        groups, samples = _group_table(tuple(self.samples().values()), keep.samples)
        return Wanted(
            contig=contigs.start,
            lengths=np.array([self.lengths[contig] for contig in contigs], np.int64),
            start=start,
            stop=stop,
            excluded_flags=keep.excluded_flags,
            min_mapping_quality=keep.min_mapping_quality,
            groups=groups,
            samples=samples,
        )

    def _parts(self, wanted: Wanted) -> "Iterator[tuple[AlignedReads, Contigs]]":
        state, last, carry = records.MORE, -1, b""
        for chunk in self._bytes(wanted):
            data = np.frombuffer(carry + chunk, np.uint8)
            found = empty(Found, {"reads": data.size // NAME + 1})
            count, rest, last, state = records.scan(data, last, wanted, found)
            if state in DAMAGE:
                raise InputError(self.path, DAMAGE[state], self._near(wanted, last))
            found = take(found, "reads", slice(0, count))
            reads, contigs = _decode(data, found), _contigs_of(data, found, wanted)
            yield self._from_phred64(reads, contigs) if self._form.phred == PHRED64 else reads, contigs
            carry = data[rest:].tobytes()
            if state == records.DONE:
                break
            if len(carry) > MAX_RECORD:
                raise InputError(self.path, "damaged BAM record", self._near(wanted, last))
        if state == records.MORE and carry:
            raise InputError(self.path, "truncated: ends within a record")

    def _near(self, wanted: Wanted, last: int) -> str:
        """`last`: the place of a record, see `records.scan`."""
        contig, position = divmod(last, 1 << records.CONTIG_SHIFT) if last >= 0 else (wanted.contig, 0)
        return f"near {self.names[contig]}:{position + 1}"

    def _from_phred64(self, reads: AlignedReads, contigs: "Contigs") -> AlignedReads:
        qualities, bad = from_phred64(reads.qualities)
        if bad >= 0:
            read = np.searchsorted(reads.read_offsets, bad, side="right") - 1
            raise InputError(self.path, TOO_LOW, f"near {self.names[contigs.reads[read]]}:{reads.position[read] + 1}")
        return replace(reads, qualities=qualities)

    def _bytes(self, wanted: Wanted) -> Iterator[bytes]:
        """Decompressed bytes from the first record that may be wanted."""
        contigs = range(wanted.contig, wanted.contig + wanted.lengths.size)
        if self._index is None:
            return self._cram_bytes(contigs, wanted.start, wanted.stop)
        offsets = (self._index.start_of(contig, wanted.start) for contig in contigs)
        offset = next((offset for offset in offsets if offset is not None), None)
        return iter(()) if offset is None else self._bam_bytes(offset)

    def _bam_bytes(self, offset: int) -> Iterator[bytes]:
        """Decompressed bytes from a virtual offset on."""
        assert self._file is not None
        place, skip, chunk = offset >> 16, offset & 0xFFFF, FIRST_CHUNK
        while compressed := os.pread(self._file.fileno(), chunk, place):
            size = blocks_of(compressed)[0][-1]
            if size == 0:
                raise InputError(self.path, f"truncated or not BGZF at byte {place}")
            try:
                data = igzip.decompress(compressed[:size])
            except BROKEN as error:
                raise InputError(self.path, f"damaged block at or after byte {place} ({error})") from error
            yield data[skip:]
            place, skip, chunk = place + size, 0, min(2 * chunk, CHUNK)

    def _cram_bytes(self, contigs: range, start: int, stop: int) -> Iterator[bytes]:
        contig = contigs.start
        with tempfile.TemporaryFile() as copy, self._open_by_pysam() as file:
            try:
                with pysam.AlignmentFile(copy, "wbu", header=self.header) as out:
                    for contig in contigs:
                        for record in file.fetch(self.names[contig], start, min(stop, self.lengths[contig])):
                            out.write(record)
            except (OSError, ValueError) as error:
                reason = f"cannot be decoded; is this its reference? ({error})"
                raise InputError(self.path, reason, f"near {self.names[contig]}:{start + 1}") from error
            copy.seek(0)
            data = igzip.decompress(copy.read())
        header = parse_header(data, self.path)
        assert header is not None
        yield data[header[0] :]


def _read_groups_of(header: dict[str, Any]) -> dict[str, tuple[str, ...]]:
    """Sample name -> its read groups."""
    out: dict[str, tuple[str, ...]] = {}
    for group in header.get("RG", []):
        if "SM" in group:
            out[group["SM"]] = (*out.get(group["SM"], ()), group["ID"])
    return out


def _is_cram(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(4) == b"CRAM"
    except OSError as error:
        raise InputError(path, f"cannot be read ({error.strerror})") from error


@lru_cache
def _group_table(
    samples: tuple[tuple[str, ...], ...], wanted: tuple[tuple[str, ...], ...]
) -> tuple[np.ndarray, np.ndarray]:
    """Hashes of the read groups of all `samples`, ascending, and which of the `wanted` samples each belongs to."""
    numbers = {group: records.UNWANTED for groups in samples for group in groups} if wanted else {}
    numbers.update({group: number for number, groups in enumerate(wanted) for group in groups})
    rows = sorted((_hash(group), number) for group, number in numbers.items())
    return np.array([row[0] for row in rows], np.uint64), np.array([row[1] for row in rows], np.int16)


def _hash(text: str) -> int:
    raw = np.frombuffer(text.encode(), np.uint8)
    return int(hash_of(raw, 0, raw.size))


def _decode(data: np.ndarray, found: Found) -> AlignedReads:
    """The records that were found, of no region yet."""
    known = found.samples >= 0
    places = found.places[known]
    reads = empty(
        AlignedReads,
        {},
        contig=-1,
        start=0,
        stop=0,
        sample=found.samples[known].astype(np.uint16),
        cigar_offsets=offsets_of(found.operations[known]),
        read_offsets=offsets_of(found.lengths[known]),
        unassigned=values_at(data, found.places[~known] + POSITION, "<i4").astype(np.int64),
    )
    records.decode(data, places, reads)
    return reads


class Contigs(NamedTuple):
    """Of records: numbers in the file's header."""

    reads: Annotated[np.ndarray, "int32 [reads]"]
    unassigned: Annotated[np.ndarray, "int32 [unassigned]"]


def _contigs_of(data: np.ndarray, found: Found, wanted: Wanted) -> Contigs:
    known = found.samples >= 0
    if wanted.lengths.size == 1:
        return Contigs(*(np.full(np.count_nonzero(rows), wanted.contig, np.int32) for rows in (known, ~known)))
    return Contigs(*(values_at(data, found.places[rows] + CONTIG, "<i4") for rows in (known, ~known)))


def place_reads(reads: AlignedReads, by: np.ndarray, unassigned_by: np.ndarray) -> AlignedReads:
    """The reads so many bases further along (int64 [reads], [unassigned])."""
    return replace(
        reads,
        position=reads.position + by,
        reference_stop=reads.reference_stop + by,
        fragment_end=np.where(reads.fragment_end >= 0, reads.fragment_end + by, reads.fragment_end),
        unassigned=reads.unassigned + unassigned_by,
    )


def join_parts(parts: list[AlignedReads], contig: int, start: int, stop: int) -> AlignedReads:
    """The parts of a region, if there are any, as one."""
    parts = parts or [_decode(np.empty(0, np.uint8), empty(Found, {"reads": 0}))]
    unassigned = np.concatenate([part.unassigned for part in parts])
    return replace(concatenate(parts, "reads"), contig=contig, start=start, stop=stop, unassigned=unassigned)
