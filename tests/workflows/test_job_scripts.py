"""The job scripts for SLURM, with a `readwarp` and `scontrol` that only report their arguments. No SLURM is needed."""

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parents[2] / "workflows" / "slurm"
SAYS = '#!/bin/bash\necho "$(basename "$0") $*" >> "$CALLS"\n'
WAITS = SAYS + "trap 'sleep 0.3; exit 143' USR1 TERM\nfor _ in $(seq 200); do sleep 0.1; done\n"


@pytest.fixture
def job(tmp_path):
    """Starts align.sbatch as one task of an array."""
    (tmp_path / "bin").mkdir()

    def start(readwarp=SAYS, **variables):
        for name, text in (("readwarp", readwarp), ("scontrol", SAYS)):
            tool = tmp_path / "bin" / name
            tool.write_text(text)
            tool.chmod(0o755)
        given = {"REFERENCE": "ref.fa", "READS": "a.fq b.fq", "SAMPLE": "s", "OUT": tmp_path / "my out"}
        given |= {"CALLS": tmp_path / "calls", "SLURM_JOB_ID": 7, "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"}
        environment = os.environ | {name: str(value) for name, value in (given | variables).items()}
        with (tmp_path / "said").open("w") as said:
            return subprocess.Popen(["bash", SCRIPTS / "align.sbatch"], env=environment, stderr=said)

    return start


def array(task, first, last, count):
    return {
        "SLURM_ARRAY_TASK_ID": task,
        "SLURM_ARRAY_TASK_MIN": first,
        "SLURM_ARRAY_TASK_MAX": last,
        "SLURM_ARRAY_TASK_COUNT": count,
    }


def calls(folder):
    return (folder / "calls").read_text() if (folder / "calls").exists() else ""


def test_a_whole_array(job, tmp_path):
    assert job(**array(3, 1, 8, 8)).wait(20) == 0
    assert f"-o {tmp_path}/my out/s.part3.bam --part 3/8 --resume" in calls(tmp_path)


@pytest.mark.parametrize(("first", "last", "count"), [(2, 3, 2), (0, 7, 8), (1, 7, 4), (3, 3, 1)])
def test_an_array_with_gaps(first, last, count, job, tmp_path):
    """The size of the array is not the number of parts."""
    assert job(**array(3, first, last, count)).wait(20) == 2
    assert "set PARTS" in (tmp_path / "said").read_text() and not calls(tmp_path)
    assert job(**array(3, first, last, count), PARTS=8).wait(20) == 0
    assert "--part 3/8" in calls(tmp_path)


@pytest.mark.parametrize("second", [None, signal.SIGTERM])
@pytest.mark.parametrize(("first", "queued"), [(signal.SIGUSR1, True), (signal.SIGTERM, False)])
def test_a_job_that_is_told_to_stop(first, queued, second, job, tmp_path):
    """After a warning of the time limit, it requeues when readwarp has ended; after a cancellation it does not."""
    task = job(readwarp=WAITS, **array(1, 1, 2, 2))
    while "readwarp align" not in calls(tmp_path):
        time.sleep(0.05)
    time.sleep(0.2)
    task.send_signal(first)
    if second:
        time.sleep(0.1)
        task.send_signal(second)
    assert task.wait(20) == 143
    assert ("scontrol requeue 7" in calls(tmp_path)) == queued


def test_a_part_that_is_there(job, tmp_path):
    (tmp_path / "my out").mkdir()
    (tmp_path / "my out" / "s.part1.bam").write_text("made")
    assert job(**array(1, 1, 2, 2)).wait(20) == 0
    assert not calls(tmp_path)


def test_a_name_for_the_shell(job, tmp_path):
    """It is an argument, whatever is in it."""
    name = "a'; touch hacked; $(touch hacked) `touch hacked`\"*b"
    assert job(**array(1, 1, 2, 2), SAMPLE=name, OUT=tmp_path / "$(touch hacked)").wait(20) == 0
    said = calls(tmp_path)
    assert f"SM:{name} -o {tmp_path}/$(touch hacked)/{name}.part1.bam --part 1/2" in said
    assert not list(tmp_path.rglob("hacked")) and not Path("hacked").exists()
