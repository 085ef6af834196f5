"""The align job on cards that are full, fail, or do not pay: the same bytes, or one line and no output."""

import gzip
import json
from dataclasses import replace

import pysam
import pytest

pytest.importorskip("numba_cuda")
import emulated_card
from helpers.cards import HAS_GPU
from readwarp.align import job, steps
from readwarp.cli import main
from readwarp.device import backend as backends
from readwarp.device import cuda_driver, memory, nvcomp
from readwarp.device.backend import Backend
from readwarp.errors import WorkspaceFullError
from readwarp.formats.common.bgzf import BLOCK, EOF_BLOCK
from readwarp.formats.reads import fastx

pytestmark = pytest.mark.cards


@pytest.fixture
def align(reference, mates, tmp_path, monkeypatch):
    """Exit code, SAM and metrics of an align job on the first `pairs` pairs."""
    monkeypatch.setattr(steps, "warm_up", lambda *arguments: None)

    def run(name: str, *options: str, pairs: int = 6, ending: str = "sam"):
        files = []
        for number, path in enumerate(mates):
            files.append(tmp_path / f"s_{number}.fq")
            files[-1].write_text("".join(path.read_text().splitlines(keepends=True)[: 4 * pairs]))
        out, counts = tmp_path / f"{name}.{ending}", tmp_path / f"{name}.json"
        code = main(
            ["align", str(reference), *map(str, files), "-o", str(out), "--no-pg", "--metrics", str(counts), *options]
        )
        return code, out.read_bytes() if out.exists() else None, json.loads(counts.read_text()) if not code else {}

    return run


@pytest.fixture
def most_reads(monkeypatch):
    """A card that takes so many reads at a time and gives what the CPU gives."""

    def set_to(most: int) -> None:
        whole, trained = steps.make_records, steps.train

        def make_records(reads, index, sizes, parameters, metrics):
            if index.backend.name == "cuda" and len(reads) > most:
                raise WorkspaceFullError(f"{len(reads)} reads")
            return whole(reads, steps.place(index.host, CPU), sizes, parameters, metrics)

        def train(reads, index, parameters, metrics):
            return trained(reads, steps.place(index.host, CPU), parameters, metrics)

        monkeypatch.setattr(steps, "make_records", make_records)
        monkeypatch.setattr(steps, "train", train)
        monkeypatch.setattr(steps, "parse", lambda raw, *_: fastx.parse(raw))

    return set_to


CPU = Backend("cpu")
OUT_OF_MEMORY, ILLEGAL_ADDRESS = 2, 700  # CUresult


def name_of(device: int) -> str:
    return backends.describe(device).name


def test_a_full_card_halves_batches(align, most_reads):
    _, expected, _ = align("cpu", "--device", "cpu")
    most_reads(4)
    code, found, metrics = align("cuda", "--device", "cuda:0")
    assert code == 0 and found == expected and expected.count(b"\n") > 12
    assert metrics["counts"]["batches_halved"] >= 2 and "reads_on_host" not in metrics["counts"]
    assert metrics["counts"]["reads"] == 12


def test_pairs_that_fit_no_card_are_aligned_on_the_host(align, monkeypatch, capsys):
    """The real kernels, in workspaces without room for a single pair."""
    _, expected, _ = align("cpu", "--device", "cpu")
    planned = job.plan_cards
    monkeypatch.setattr(job, "plan_cards", lambda *a: replace(planned(*a), capacity=256))
    code, found, metrics = align("cuda", "--device", "cuda:0")
    assert code == 0 and found == expected
    assert metrics["counts"]["reads_on_host"] == 12
    (gpu,) = metrics["gpu"]
    assert gpu["vram_planned_bytes"] - gpu["workspaces"] * 256 > 0 and gpu["seeding"] == "cuda"
    assert "12 reads too large for the GPU's memory: aligned on the CPU" in capsys.readouterr().err


@pytest.fixture
def faults():
    """Until the test ends, the card fails in the way the test asks for."""
    if HAS_GPU:
        pytest.skip("a real card has no faults on demand")
    assert backends.problem_of(0) is None  # its own launch is not the one that fails
    yield
    emulated_card.heal()
    emulated_card.clear_findings()


def test_a_kernel_that_fails_is_named_and_leaves_no_output(align, faults, capsys):
    emulated_card.fail("launch", 1, ILLEGAL_ADDRESS)
    code, found, _ = align("failed", "--device", "cuda:0", "-q", pairs=1)
    assert code == 1 and found is None
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"readwarp: error: a kernel failed on cuda:0 ({name_of(0)}) during seed: ")
    assert "CUDA_ERROR_ILLEGAL_ADDRESS" in line


def test_memory_that_cannot_be_pinned_is_no_reason_for_smaller_batches(align, faults, capsys):
    emulated_card.fail("cuMemHostAlloc", 2, OUT_OF_MEMORY)
    code, found, _ = align("unpinned", "--device", "cuda:0", "-q", pairs=1)
    assert code == 5 and found is None
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("readwarp: error: the system cannot pin 8388608 bytes of memory")


def free() -> list[int]:
    """Free bytes of each card."""
    backend = Backend("cuda", (0, 1))
    return [free_on(each, backend) for each in backend.devices]


def free_on(card: int, backend: Backend) -> int:
    with backend.on(card):
        return cuda_driver.memory_info()[0]


@pytest.mark.parametrize("failing", [False, True])
def test_a_run_leaves_nothing_on_the_cards(align, failing, monkeypatch):
    before = free()
    if failing:
        monkeypatch.setattr(steps, "make_records", failing_on_card)
    code, _, _ = align("left", "--device", "cuda:0,1", "--batch-bases", "1000", "-q", pairs=40)
    assert code == (1 if failing else 0)
    assert free() == before


def failing_on_card(reads, index, *others):
    """A failure whose traceback holds arrays of the card."""
    held = memory.current().upload(reads.bases), index
    raise ArithmeticError(len(held))


def test_every_card_is_warmed_up_before_the_first_batch(align, most_reads, monkeypatch):
    most_reads(1000)
    order, trained = [], steps.train

    def train(*arguments):
        order.append("train")
        return trained(*arguments)

    monkeypatch.setattr(steps, "warm_up", lambda *arguments: order.append(cuda_driver.current_device()))
    monkeypatch.setattr(steps, "train", train)
    assert align("warm", "--device", "cuda:0,1", "-q")[0] == 0
    assert order == [0, 1, "train"]
    order.clear()
    assert align("cpu", "--device", "cpu", "-q")[0] == 0
    assert order[-1:] == ["train"]


class LostError(RuntimeError):
    pass


LostError.__module__ = "numba.cuda.cudadrv.driver"


def test_a_lost_card_ends_the_run(align, monkeypatch, capsys):
    def lost(*arguments):
        raise LostError("Call to cuMemcpyHtoDAsync results in CUDA_ERROR_DEVICE_UNAVAILABLE")

    monkeypatch.setattr(steps, "make_records", lost)
    code, found, _ = align("lost", "--device", "cuda:0", "-q", "-I", "300,30", pairs=1)
    assert code == 4 and found is None
    assert f"cuda:0 ({name_of(0)}) is lost" in capsys.readouterr().err


def test_metrics_and_log_say_what_the_card_did(align, most_reads, capsys):
    most_reads(1000)
    code, _, metrics = align("said", "--device", "cuda:0", "--vram", "300M", "-t", "1")
    assert code == 0
    (gpu,) = metrics["gpu"]
    assert (gpu["command"], gpu["device"], gpu["name"], gpu["workspaces"]) == ("align", 0, name_of(0), 3)
    assert gpu["batches"] >= 1 and gpu["vram_high_water_bytes"] <= gpu["vram_planned_bytes"] <= 300 << 20
    assert metrics["threads"] == 3
    said = capsys.readouterr().err
    assert f"cuda:0 ({name_of(0)}, kernels {gpu['kernel_form']}): 3 batches of " in said
    assert "seeding on the card" in said


@pytest.mark.parametrize("options", [(), ("--mark-duplicates", "--write-index")], ids=["as read", "sorted"])
def test_bam_is_compressed_on_the_card(options, align, most_reads, tmp_path, capsys):
    """Its data are those of the CPU; its bytes are the same for any memory and threads, or the CPU's if asked."""
    if nvcomp.library() is None:
        pytest.skip("nvCOMP is not installed")
    most_reads(1000)
    ways = {
        "cpu": ("--device", "cpu"),
        "host": ("--device", "cuda:0", "--bgzf", "cpu"),
        "card": ("--device", "cuda:0"),
        "little": ("--device", "cuda:0", "--vram", "300M", "-t", "1", "--batch-bases", "500"),
    }
    made = {name: align(name, *way, *options, pairs=500, ending="bam") for name, way in ways.items()}
    assert [code for code, _, _ in made.values()] == [0] * 4
    cpu, host, card, little = (content for _, content, _ in made.values())
    assert host == cpu != card == little and gzip.decompress(card) == gzip.decompress(cpu)
    assert card.endswith(EOF_BLOCK) and len(gzip.decompress(card)) > BLOCK
    assert [gpu["command"] for gpu in made["host"][2]["gpu"]] == ["align"]
    for name in ("card", "little"):
        gpu = {each["command"]: each for each in made[name][2]["gpu"]}
        assert gpu["bgzf"]["batches"] >= 1 and gpu["bgzf"]["nvcomp"] == nvcomp.version()
        assert gpu["bgzf"]["vram_high_water_bytes"] <= gpu["bgzf"]["vram_planned_bytes"]
    assert sum(each["vram_planned_bytes"] for each in gpu.values()) <= 300 << 20
    assert "BAM is compressed on the GPU by nvCOMP, in " in capsys.readouterr().err
    if options:
        regions = [regions_of(tmp_path / f"{name}.bam") for name in ("cpu", "card")]
        assert regions[0] == regions[1] and any(regions[0])


def regions_of(path):
    """Records of pieces of the contigs, which an index leads to."""
    with pysam.AlignmentFile(str(path)) as bam:
        pieces = [
            (name, at) for name, size in zip(bam.references, bam.lengths, strict=True) for at in range(0, size, 97)
        ]
        return [[str(read) for read in bam.fetch(name, at, at + 50)] for name, at in pieces]


def test_bam_without_nvcomp(align, most_reads, monkeypatch, capsys):
    _, expected, _ = align("cpu", "--device", "cpu", ending="bam")
    most_reads(1000)
    monkeypatch.setattr(nvcomp, "library", lambda: None)
    code, found, metrics = align("cuda", "--device", "cuda:0", ending="bam")
    assert code == 0 and found == expected and metrics["counts"]["outputs_compressed_on_host"] == 1
    assert "BAM is compressed on the CPU: nvCOMP (libnvcomp.so.6) is not installed" in capsys.readouterr().err


def test_bam_without_reads(align, most_reads):
    most_reads(1000)
    code, found, _ = align("none", "--device", "cuda:0", pairs=0, ending="bam")
    assert code == 0 and gzip.decompress(found).startswith(b"BAM") and found.endswith(EOF_BLOCK)


def test_an_error_of_nvcomp_leaves_no_output(align, most_reads, faults, capsys):
    most_reads(1000)
    emulated_card.fail("nvcompBatchedDeflateCompressAsync", 2, 11)  # the first is a trial
    code, found, _ = align("failed", "--device", "cuda:0", "-q", ending="bam")
    assert code == 1 and found is None
    assert "nvCOMP 6.0.0 failed: An emulated error (status 11); --bgzf cpu does without it" in capsys.readouterr().err
