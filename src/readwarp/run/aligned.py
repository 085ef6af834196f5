"""What `run --resume` notes when the alignments are complete: that calling may begin, and what was counted so far."""

import json
from pathlib import Path

from readwarp.align.job import AlignJob, facts_of
from readwarp.formats.alignments.segments import write_whole
from readwarp.index import Index
from readwarp.metrics import Metrics

FACTS = ("flagstat", "insert_sizes", "align_seconds", "reads_per_second", "reads_of_earlier_runs", "device")


def note_of(bam: Path) -> Path:
    return Path(f"{bam}.aligned.json")


def is_aligned(bam: Path, job: AlignJob, index: Index, metrics: Metrics) -> bool:
    """Whether an earlier run of this very job has completed `bam`; its counts are then added to the metrics.

    If not, the note goes: it would speak of another file as soon as `bam` is written anew.
    """
    note = note_of(bam)
    written = json.loads(note.read_text()) if job.resume and bam.exists() and note.exists() else {}
    is_this = written.get("bytes") == bam.stat().st_size if written else False
    if not is_this or written["job"] != json.loads(json.dumps(facts_of(job, index))):
        note.unlink(missing_ok=True)
        return False
    for name, number in written["counts"].items():
        metrics.count(name, number)
    metrics.note(**written["facts"])
    return True


def set_aligned(bam: Path, job: AlignJob, index: Index, metrics: Metrics) -> None:
    facts = {name: metrics.facts[name] for name in FACTS if name in metrics.facts}
    content = {"bytes": bam.stat().st_size, "job": facts_of(job, index), "counts": metrics.counts, "facts": facts}
    write_whole(note_of(bam), json.dumps(content).encode())
