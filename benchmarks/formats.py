"""Input and output on one core: FASTQ, BAM records, SAM text, BGZF and sorting, with dnaio and pysam in the same run.

    formats.py READS_1.fq READS_2.fq [-n PAIRS]        appends to results/formats.csv

Input is plain FASTQ. Seconds are CPU seconds of the process, the best of three runs, so that other load matters less.
"""

import argparse
import csv
import io
import itertools
import tempfile
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path

import dnaio
import numpy as np
import pysam

from readwarp.finish.order import gather
from readwarp.finish.signatures import Libraries, sign
from readwarp.finish.sort import Sorter
from readwarp.formats.alignments.encoded import Encoded
from readwarp.formats.alignments.header import Contig, header_text
from readwarp.formats.alignments.records import AlignmentBatch
from readwarp.formats.alignments.sam import Encoder
from readwarp.formats.common.bgzf import BgzfWriter
from readwarp.formats.common.reads import ReadBatch
from readwarp.formats.reads.raw import RawBatch, ReadInput
from readwarp.formats.reads.stream import open_reads, parse

RESULTS = Path(__file__).resolve().parent / "results" / "formats.csv"
COLUMNS = ["date", "what", "tool", "reads", "megabytes", "seconds", "million_reads_per_s", "mb_per_s"]
CONTIG = 70_000_000
TAGS = b"NMC\x02MDZ100A49\0ASC\x91XSC\x13MCZ150M\0MQC\x3c"

SEGMENT_TAGS = (("NM", 2), ("MD", "100A49"), ("AS", 145), ("XS", 19), ("MC", "150M"), ("MQ", 60))


def timed(work: Callable[[], object], runs: int = 3) -> float:
    seconds = []
    for _ in range(runs):
        started = time.process_time()
        work()
        seconds.append(time.process_time() - started)
    return min(seconds)


def sample(path: Path, pairs: int, out: Path) -> Path:
    """The first reads of a plain FASTQ file."""
    with path.open("rb") as lines:
        out.write_bytes(b"".join(itertools.islice(lines, 4 * pairs)))
    return out


def made_up(reads: ReadBatch) -> AlignmentBatch:
    """One record per read, at random places, as wide as real ones."""
    rng, n = np.random.default_rng(reads.number), len(reads)
    strand, position = rng.integers(0, 2, n), rng.integers(0, CONTIG - 1000, n)
    mate = np.arange(n) ^ 1
    flag = 1 | np.where(np.arange(n) % 2, 128, 64) | 16 * strand | 32 * strand[mate]
    offsets = np.arange(n + 1, dtype=np.int64)
    return AlignmentBatch(
        read=np.arange(n, dtype=np.int32),
        flag=flag.astype(np.uint16),
        contig=np.zeros(n, np.int32),
        position=position,
        mapping_quality=np.full(n, 60, np.uint8),
        cigar=np.diff(reads.read_offsets).astype(np.uint32) << 4,
        cigar_offsets=offsets,
        mate_contig=np.zeros(n, np.int32),
        mate_position=position[mate],
        template_length=position[mate] - position,
        has_bases=np.ones(n, np.uint8),
        tags=np.tile(np.frombuffer(TAGS, np.uint8), n),
        tag_offsets=offsets * len(TAGS),
    )


def compressed(records: list[Encoded]) -> None:
    writer = BgzfWriter(io.BytesIO())
    for part in records:
        writer.write(part.data)
    writer.close()


def sorted_all(records: list[Encoded], libraries: Libraries | None) -> None:
    sorter = Sorter("coordinate", 1 << 30, skip=32 if libraries else 0)
    for part in records:
        order = sorter.order_of(part)
        sorter.add(sorter.run_of(sign(part, order, libraries).records if libraries else gather(part, order, 0)))
    for _ in sorter.sorted():
        pass


def dnaio_reads(paths: list[Path]) -> None:
    with dnaio.open(*paths) as pairs:
        for _ in pairs:
            pass


def pysam_written(header_text: str, reads: ReadBatch, rows: AlignmentBatch, mode: str) -> None:
    """Write the same records, one AlignedSegment each."""
    header = pysam.AlignmentHeader.from_text(header_text)
    letters = np.frombuffer(b"ACGTN", np.uint8)[reads.bases].tobytes().decode()
    qualities = (reads.qualities + 33).tobytes().decode()
    names, name_offsets = reads.names.tobytes().decode(), reads.name_offsets.tolist()
    with pysam.AlignmentFile("/dev/null", mode, header=header) as out:
        for i, (start, stop) in enumerate(itertools.pairwise(reads.read_offsets.tolist())):
            record = pysam.AlignedSegment(header)
            record.query_name = names[name_offsets[i] : name_offsets[i + 1]]
            record.flag, record.reference_id, record.mapping_quality = int(rows.flag[i]), 0, 60
            record.reference_start, record.next_reference_start = int(rows.position[i]), int(rows.mate_position[i])
            record.next_reference_id, record.template_length = 0, int(rows.template_length[i])
            record.cigartuples = [(0, stop - start)]
            record.query_sequence, record.query_qualities_str = letters[start:stop], qualities[start:stop]
            record.set_tags(
                [("NM", 2), ("MD", "100A49"), ("AS", 145), ("XS", 19), ("MC", "150M"), ("MQ", 60), ("RG", "a")]
            )
            out.write(record)


def bgzf_by_pysam(data: bytes) -> None:
    with pysam.BGZFile("/dev/null", "wb") as out:
        out.write(data)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reads", type=Path, nargs=2)
    parser.add_argument("-n", "--pairs", type=int, default=200_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        paths = [sample(path, options.pairs, Path(folder, f"{i}.fq")) for i, path in enumerate(options.reads)]
        rows = measure(paths)
    new = not RESULTS.exists()
    with RESULTS.open("a", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        if new:
            writer.writeheader()
        writer.writerows(rows)


def measure(paths: list[Path]) -> list[dict[str, object]]:
    given = ReadInput(tuple(map(str, paths)), read_group=0)
    raws: list[RawBatch] = list(open_reads([given], 1_000_000))
    batches = [parse(raw) for raw in raws]
    reads, text = sum(map(len, batches)), sum(path.stat().st_size for path in paths)
    rows: list[dict[str, object]] = []

    def row(what: str, tool: str, size: int, seconds: float, count: int = 0) -> None:
        count = count or reads
        speeds = {"million_reads_per_s": round(count / seconds / 1e6, 3), "mb_per_s": round(size / seconds / 1e6, 1)}
        numbers = {"reads": count, "megabytes": round(size / 1e6, 1), "seconds": round(seconds, 3)}
        rows.append({"date": date.today().isoformat(), "what": what, "tool": tool, **numbers, **speeds})
        print(f"{what:26} {tool:9} {speeds['million_reads_per_s']:8} M reads/s {speeds['mb_per_s']:8} MB/s")

    def drained() -> None:
        for _ in open_reads([given], 1_000_000):
            pass

    row("read and cut FASTQ", "readwarp", text, timed(drained))
    row("parse FASTQ", "readwarp", text, timed(lambda: [parse(raw) for raw in raws]))
    row("read and parse FASTQ", "dnaio", text, timed(lambda: dnaio_reads(paths)))
    rows_out = [made_up(batch) for batch in batches]
    header = header_text([Contig("X", CONTIG)], read_groups=["@RG\tID:a\tSM:s"])
    encoded: dict[str, list[Encoded]] = {}
    for what, as_text in (("encode SAM", True), ("encode BAM", False)):
        encoder = Encoder(("X",), ("a",), as_text)
        encoded[what] = [encoder.encode(batch, out) for batch, out in zip(batches, rows_out, strict=True)]
        size = sum(part.data.size for part in encoded[what])
        pairs = list(zip(batches, rows_out, strict=True))
        row(what, "readwarp", size, timed(lambda e=encoder, p=pairs: [e.encode(*pair) for pair in p]))  # type: ignore[misc]
    records, libraries = encoded["encode BAM"], Libraries.of(["@RG\tID:a\tSM:s"])
    size = sum(part.data.size for part in records)
    row("BGZF", "readwarp", size, timed(lambda: compressed(records)))
    row("sort", "readwarp", size, timed(lambda: sorted_all(records, None)))
    row("sort with signatures", "readwarp", size, timed(lambda: sorted_all(records, libraries)))
    for what, mode in (("encode SAM", "w"), ("encode BAM", "wbu")):
        one = batches[0], rows_out[0]
        seconds = timed(lambda m=mode, o=one: pysam_written(header, *o, m), 1)  # type: ignore[misc]
        size = encoded[what][0].data.size
        row(f"{what} (one batch)", "pysam", size, seconds, len(one[0]))
    data = b"".join(part.data.tobytes() for part in records)[: 64 << 20]
    share = reads * len(data) // sum(part.data.size for part in records)
    row("BGZF (first 64 MB)", "pysam", len(data), timed(lambda: bgzf_by_pysam(data), 1), share)
    return rows


if __name__ == "__main__":
    main()
