"""Write --bam-output: realigned records of called regions, as a sorted and indexed BAM file (see `realigned`).

    HC      name of the haplotype that a read was aligned to, contig:start-end.number; none if several fit equally
    OP, OC  position (1-based) and CIGAR before, where they differ
    NM, MC  of the new alignments; MD, AS, XS, SA and similar tags describe the old ones and are removed

The haplotypes are records too, named as in HC, in the read group HAPLOTYPES and with the sample's name. A record that
overlaps several regions is realigned in the one it shares most bases with. Mate fields are consistent; a read whose
mate is in no region becomes a single read.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pysam

from readwarp.call.places.bases import Bases
from readwarp.call.reads.inputs import AlignmentFiles, AlignmentSource
from readwarp.call.records.realigned import CalledRegion, CalledSite, Realignment, join_sites, realign, region_of
from readwarp.errors import UsageError
from readwarp.formats.alignments import samtools
from readwarp.formats.alignments.header import ORDER, program_lines
from readwarp.formats.common.index import CSI_LENGTH
from readwarp.formats.common.output_file import OutputFile
from readwarp.formats.common.qualities import MISSING
from readwarp.formats.common.silence import quiet_htslib
from readwarp.formats.common.writing import writing
from readwarp.index.reference import Reference
from readwarp.rules.cigar import DELETION, HARD_CLIP, INSERTION, MATCH, SKIP
from readwarp.rules.flags import FIRST, LAST, MATE_REVERSE, MATE_UNMAPPED, PAIRED, PROPER, SECONDARY, SUPPLEMENTARY

MISSING_QUALITY, HAPLOTYPE_QUALITY = 20, 40
STALE = ("AS", "XS", "MD", "NM", "SA", "XA", "pa", "MC", "MQ", "UQ", "ms", "mc")  # tags of the old alignments
OF_MATES = PAIRED | PROPER | MATE_UNMAPPED | MATE_REVERSE | FIRST | LAST
LETTERS = "ACGTN"
Record = Any  # pysam.AlignedSegment, whose stubs say that everything may be missing


class RealignedBam:
    """Collector of calls that writes the file at the end."""

    def __init__(self, path: Path, reference: Reference, alignments: AlignmentFiles, command: str):
        if any(source.reader.is_stream for source in alignments.sources):
            raise UsageError("--bam-output reads the alignments twice: give files with an index")
        self.path, self.reference, self.alignments, self.command = path, reference, alignments, command
        self._sites = list[CalledSite]()

    def add(self, sites: Sequence[CalledSite]) -> None:
        """Add the calls of sites, in order."""
        self._sites += sites

    def write(self) -> OutputFile:
        """Write the file with its index, complete but not yet named."""
        file = OutputFile(str(self.path))
        try:
            with writing(self.path, by_htslib=True), quiet_htslib():
                self._make(file)
        except BaseException:
            file.remove()
            raise
        return file

    def _make(self, file: OutputFile) -> None:
        place = str(file.place)
        found, named, mated = (f"{place}.{name}.bam" for name in ("found", "named", "mated"))
        header = pysam.AlignmentHeader.from_text(self._header())
        with pysam.AlignmentFile(found, "wb", header=header) as out:
            for record in self._records(header):
                out.write(record)
        samtools.run("sort", "-n", "-T", f"{place}.n", "-o", named, found, output=self.path)
        with pysam.AlignmentFile(named) as records, pysam.AlignmentFile(mated, "wb", header=header) as out:
            for _, template in groupby(records, key=lambda record: (record.query_name, record.get_tag("RG"))):
                for record in agree(list(template)):
                    out.write(record)
        samtools.run("sort", "--no-PG", "-T", f"{place}.p", "-O", "bam", "-o", place, mated, output=self.path)
        is_long = max(np.diff(self.reference.contig_offsets)) > CSI_LENGTH
        kind, index = ("-c", file.index_path(".csi")) if is_long else ("-b", file.index_path(".bai"))
        samtools.run("index", kind, "-o", str(index), place, output=self.path)

    def _header(self) -> str:
        lines = [f"@HD\tVN:1.6\t{ORDER['coordinate']}"]
        lengths = np.diff(self.reference.contig_offsets).tolist()
        for name, length, md5 in zip(self.reference.names, lengths, self.reference.md5, strict=True):
            lines.append(f"@SQ\tSN:{name}\tLN:{length}\tM5:{md5}")
        for sample in self.alignments.samples:
            lines += [f"@RG\tID:{sample}\tSM:{sample}", f"@RG\tID:HAPLOTYPES.{sample}\tSM:{sample}"]
        return "".join(f"{line}\n" for line in (*lines, *program_lines([], self.command)))

    def _records(self, header: pysam.AlignmentHeader) -> Iterator[Record]:
        for contig, sites in groupby(self._sites, key=lambda site: site.contig):
            bases = Bases(self.reference, contig)
            regions = [region for own in join_sites(sites) if (region := region_of(own, bases))]
            for region in regions:
                yield from self._haplotypes(region, header)
                yield from self._reads(region, regions, bases, header)

    def _haplotypes(self, region: CalledRegion, header: pysam.AlignmentHeader) -> Iterator[Record]:
        for number, haplotype in enumerate(region.haplotypes):
            for sample in haplotype.samples:
                record = pysam.AlignedSegment(header)
                record.query_name, record.flag, record.mapping_quality = self._name(region, number), 0, 60
                record.reference_id, record.reference_start = region.contig, region.start
                record.cigartuples = list(haplotype.runs)
                record.query_sequence = "".join(LETTERS[base] for base in haplotype.bases.tolist())
                record.query_qualities = array("B", [HAPLOTYPE_QUALITY] * haplotype.bases.size)
                record.set_tag("RG", f"HAPLOTYPES.{self.alignments.samples[sample]}")
                record.set_tag("HC", record.query_name)
                yield record

    def _name(self, region: CalledRegion, number: int) -> str:
        return f"{self.reference.names[region.contig]}:{region.start + 1}-{region.stop}.{number}"

    def _reads(
        self, region: CalledRegion, regions: Sequence[CalledRegion], bases: Bases, header: pysam.AlignmentHeader
    ) -> Iterator[Record]:
        own = defaultdict[int, list[Record]](list)
        for source in self.alignments.sources:
            for record, sample in records_of(source, region):
                if region_for(record, regions) is region:
                    own[sample].append(record)
        for sample, records in own.items():
            numbers = [number for number, haplotype in enumerate(region.haplotypes) if sample in haplotype.samples]
            reads = [codes_of(record) for record in records]
            for record, choice in zip(
                records, realign(region, [region.haplotypes[n] for n in numbers], bases, reads), strict=True
            ):
                name = self._name(region, numbers[choice.haplotype]) if choice.haplotype >= 0 else None
                out = rewrite(record, choice, header, region.contig)
                out.set_tag("RG", self.alignments.samples[sample])
                out.set_tag("HC", name)
                out.set_tag("NM", distance_of(out, bases))
                yield out


def records_of(source: AlignmentSource, region: CalledRegion) -> Iterator[tuple[pysam.AlignedSegment, int]]:
    """Yield the usable records that overlap a region, with their samples."""
    if region.contig not in source.contigs:
        return
    name = source.reader.names[source.contigs[region.contig]]
    for record in source.reader.fetch(name, region.start, region.stop):
        is_usable = record.flag & source.keep.excluded_flags == 0 and record.cigartuples and record.query_sequence
        if not is_usable or record.mapping_quality < source.keep.min_mapping_quality:
            continue
        sample = source.sample_of(record)
        if sample is not None and all(operation != SKIP for operation, _ in record.cigartuples or ()):
            yield record, sample


def region_for(record: Record, regions: Sequence[CalledRegion]) -> CalledRegion:
    """Return the region that shares most bases with a record, the first one on a tie. Regions are apart and sorted."""
    start, stop = record.reference_start, record.reference_end
    first = bisect_right(regions, start, key=lambda region: region.stop)
    last = bisect_left(regions, stop, key=lambda region: region.start)
    return max(regions[first:last], key=lambda region: min(stop, region.stop) - max(start, region.start))


def codes_of(record: Record) -> tuple[np.ndarray, np.ndarray]:
    bases = np.array([LETTERS.find(letter) % 5 for letter in record.query_sequence], np.uint8)
    given = record.query_qualities
    qualities = np.full(bases.size, MISSING_QUALITY) if given is None else np.array(given)
    return bases, np.where(qualities == MISSING, MISSING_QUALITY, qualities).astype(np.uint8)


def rewrite(record: Record, choice: Realignment, header: pysam.AlignmentHeader, contig: int) -> Record:
    """Return the record with its new alignment, in a file with this header."""
    before, start = list(record.cigartuples), record.reference_start
    hard = [[run] if run[0] == HARD_CLIP else [] for run in (before[0], before[-1])]
    fields = record.to_dict()
    fields["ref_name"] = header.references[contig]
    if fields["next_ref_name"] not in ("=", "*") and fields["next_ref_name"] not in header.references:
        fields["next_ref_name"], fields["next_ref_pos"] = "*", "0"
    out = pysam.AlignedSegment.from_dict(fields, header)
    for tag in STALE:
        out.set_tag(tag, None)
    if choice.runs:
        out.reference_start, out.cigartuples = choice.position, [*hard[0], *choice.runs, *hard[1]]
    if (out.reference_start, list(out.cigartuples)) != (start, before):
        out.set_tag("OP", start + 1)
        out.set_tag("OC", record.cigarstring)
    return out


def distance_of(record: Record, bases: Bases) -> int:
    """Return NM: bases that differ, are inserted or deleted."""
    reference = bases.array(record.reference_start, record.reference_end)
    at = read = distance = 0
    codes = codes_of(record)[0]
    for operation, length in record.cigartuples:
        if operation == MATCH:
            distance += int((codes[read : read + length] != reference[at : at + length]).sum())
            at, read = at + length, read + length
        elif operation == DELETION:
            at, distance = at + length, distance + length
        elif operation != HARD_CLIP:
            read, distance = read + length, distance + length * (operation == INSERTION)
    return distance


def agree(records: list[Record]) -> list[Record]:
    """Make the mate fields of one template's records agree."""
    primary = {
        side: r for r in records for side in (FIRST, LAST) if r.flag & side and not r.flag & (SECONDARY | SUPPLEMENTARY)
    }
    for record in records:
        mate = primary.get(LAST if record.flag & FIRST else FIRST) if record.flag & PAIRED else None
        record.flag &= ~(MATE_UNMAPPED | MATE_REVERSE) if mate else ~OF_MATES
        record.next_reference_id = mate.reference_id if mate else -1
        record.next_reference_start = mate.reference_start if mate else -1
        record.template_length = 0
        if mate:
            record.flag |= MATE_REVERSE * mate.is_reverse
            record.set_tag("MC", mate.cigarstring)
    if len(primary) == 2 and primary[FIRST].reference_id == primary[LAST].reference_id:
        one, two = primary[FIRST], primary[LAST]
        start, stop = min(one.reference_start, two.reference_start), max(one.reference_end, two.reference_end)
        first = one if one.reference_start <= two.reference_start else two
        for record in (one, two):
            record.template_length = (stop - start) * (1 if record is first else -1)
    return records
