"""--device auto: a GPU if one works and the job is large enough."""

from pathlib import Path

import pytest

from readwarp.config import Resources
from readwarp.device import backend as backends
from readwarp.device.driver import Device
from readwarp.formats.common.bgzf import EOF_BLOCK
from readwarp.stream.choice import ALIGN, CALL, bases_of, choose_device


@pytest.fixture
def with_card(monkeypatch):
    monkeypatch.setattr(backends, "devices", lambda: (Device("H200", (9, 0), 1 << 37, None, speed=132 * 1.98e9),))


def test_small_jobs_stay_on_the_cpu_and_say_so(with_card, tmp_path, caplog):
    path = tmp_path / "small.fq"
    path.write_bytes(b"@" * 230)
    with caplog.at_level("INFO", "readwarp"):
        assert choose_device(Resources(2, "auto"), [path, path], ALIGN) == "cpu"
    assert "about 200 read bases; a GPU pays off from 73,089,700" in caplog.text


def test_large_and_unknown_jobs_take_the_gpu(with_card, tmp_path):
    path = tmp_path / "large.fq.gz"
    with path.open("wb") as file:
        file.write(b"\x1f\x8b")
        file.truncate(320_000_000)  # about 640 Mb
    assert choose_device(Resources(2, "auto"), [path], ALIGN) == "auto"
    assert choose_device(Resources(16, "auto"), [path], ALIGN) == "cpu"
    assert choose_device(Resources(16, "auto"), [path, Path("-")], ALIGN) == "auto"
    assert choose_device(Resources(16, "cuda"), [path], ALIGN) == "cuda"


def test_a_share_of_the_reads_is_a_smaller_job(with_card, tmp_path):
    path = tmp_path / "large.bam"
    with path.open("wb") as file:
        file.write(b"\x1f\x8b")
        file.truncate(4_000_000_000)  # about 6.7 Gb
    assert choose_device(Resources(2, "auto"), [path], CALL) == "auto"
    assert choose_device(Resources(2, "auto"), [path], CALL, 0.9) == "auto"
    assert choose_device(Resources(2, "auto"), [path], CALL, 0.4) == "cpu"


def test_a_card_that_saves_no_time_is_left_alone(with_card, tmp_path, caplog):
    with caplog.at_level("INFO", "readwarp"):
        assert choose_device(Resources(128, "auto"), [Path("-")], CALL) == "cpu"
    assert "running on the CPU: with 128 threads, a GPU would be no faster" in caplog.text
    assert choose_device(Resources(64, "cuda"), [Path("-")], CALL) == "cuda"


def test_the_slowest_card_decides(monkeypatch):
    """Any of them may be the one that is free."""
    shown = [Device(str(speed), (9, 0), 1 << 37, None, speed=speed) for speed in (3e9, 261e9)]
    monkeypatch.setattr(backends, "devices", lambda: shown)
    assert choose_device(Resources(1, "auto"), [Path("-")], ALIGN) == "auto"
    assert choose_device(Resources(2, "auto"), [Path("-")], ALIGN) == "cpu"
    monkeypatch.setattr(backends, "devices", lambda: shown[1:])
    assert choose_device(Resources(2, "auto"), [Path("-")], ALIGN) == "auto"


def test_gzip_that_one_thread_inflates_may_leave_nothing_to_save(with_card, tmp_path):
    """With 18 threads, both sides wait for it; in blocks, 18 threads inflate."""
    for name, head, side in (("a.fq.gz", b"\x1f\x8b", "cpu"), ("b.fq.gz", EOF_BLOCK, "auto"), ("c.fq", b"@", "auto")):
        path = tmp_path / name
        with path.open("wb") as file:
            file.write(head)
            file.truncate(1 << 40)
        assert choose_device(Resources(18, "auto"), [path, Path("-")], ALIGN) == side


def test_only_auto_asks_the_driver(monkeypatch):
    monkeypatch.setattr(backends, "devices", lambda: pytest.fail("asked"))
    assert [choose_device(Resources(2, side), [Path("-")], ALIGN) for side in ("cpu", "cuda:1")] == ["cpu", "cuda:1"]


def test_nothing_is_said_without_a_card(tmp_path, caplog, monkeypatch):
    monkeypatch.setattr(backends, "devices", lambda: ())
    assert choose_device(Resources(2, "auto"), [tmp_path], ALIGN) == "auto"
    assert caplog.text == ""


@pytest.mark.parametrize(
    ("name", "head", "bases"),
    [("a.bam", b"\x1f\x8b", 1000 / 0.6), ("a.cram", b"CRAM", 4000), ("a.fq", b"@", 1000 / 2.3), ("-", None, None)],
)
def test_bases_by_size_and_kind(name, head, bases, tmp_path):
    path = tmp_path / name
    if head is not None:
        path.write_bytes(head.ljust(1000, b"\0"))
    assert bases_of([path]) == (pytest.approx(bases) if bases else None)
