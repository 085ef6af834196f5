"""One read as the records of several libraries."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import dnaio
import pysam
from Bio.Seq import Seq
from Bio.SeqRecord import SeqRecord


def aligned_segment(name: str, sequence: str, qualities: str, flag: int = 0) -> pysam.AlignedSegment:
    segment = pysam.AlignedSegment()
    segment.query_name, segment.query_sequence, segment.flag = name, sequence, flag
    segment.query_qualities = pysam.qualitystring_to_array(qualities)
    return segment


def fastx_records(text: str, folder: Path) -> list[Any]:
    path = folder / "records.fx"
    path.write_text(text)
    with pysam.FastxFile(str(path)) as records:
        return list(records)


def records_of(name: str, sequence: str, qualities: str, folder: Path) -> dict[str, Any]:
    phreds = {"phred_quality": [ord(letter) - 33 for letter in qualities]}
    return {
        "SeqRecord": SeqRecord(Seq(sequence), id=name, description="comment", letter_annotations=phreds),
        "dnaio": dnaio.SequenceRecord(f"{name}/1 comment", sequence, qualities),
        "FastxRecord": fastx_records(f"@{name}/1 comment\n{sequence}\n+\n{qualities}\n", folder)[0],
        "AlignedSegment": aligned_segment(name, sequence, qualities),
        "tuple": (f"{name}/1", sequence, qualities),
        "pyfaidx": SimpleNamespace(name=name, seq=sequence, start=1, end=len(sequence)),
    }
