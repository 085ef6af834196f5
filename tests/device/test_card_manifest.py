"""The kernels for cards that each command needs: a table that `python tests/device/test_card_manifest.py` makes."""

import gc
import sys
import time
from collections import defaultdict
from pathlib import Path

import pytest

pytest.importorskip("numba_cuda")
sys.path.append(str(Path(__file__).resolve().parents[1]))
sys.path.append(str(Path(__file__).resolve().parents[2] / "benchmarks"))

from compiled import kernels as listed
from compiled.compile import signature_of
from helpers.caches import forget_folders
from helpers.cards import CAPABILITIES, IS_EMULATED
from helpers.command_samples import letters
from readwarp.align import steps
from readwarp.call.likelihoods.pairhmm import cuda as pairhmm
from readwarp.cli import main
from readwarp.compiler import jit, manifest, prepare
from readwarp.compiler.jit import kernel_of
from readwarp.compiler.levels import CARDS, card_level
from readwarp.compiler.manifest import ManifestEntry
from readwarp.config import PRESETS, AlignParameters
from readwarp.device import trial
from readwarp.device.backend import Backend
from readwarp.device.launch import CardKernel
from readwarp.finish.signatures import Libraries
from readwarp.finish.writer import Preparer
from readwarp.formats.alignments.sam import Encoder
from readwarp.index import Index

pytestmark = pytest.mark.cards

SHORT, LONG = ("Aligner", "Aligner.trim", "align", "run"), ("Aligner.long", "align.long", "run.long")
BAM = "align", "run", "align.long", "run.long"
CALLS, SUMS, PAIRS = ("call", "call.fractions", "call.long", "run", "run.long"), ("pair_hmm",), ("pairwise",)
NEEDED = (  # by which commands
    ((*listed.SCAN, *listed.TILES, *listed.TRACE), (*SHORT, *LONG, *PAIRS)),
    ((*listed.SEED, *listed.CHAIN, *listed.EXTEND, *listed.PLACE_ROWS), (*SHORT, *LONG)),
    ((*listed.LONG_CHAIN, *listed.LONG_TRACE, *listed.ENDS), LONG),
    (listed.PAIRWISE, (*LONG, *PAIRS)),
    (listed.PAIR_HMM, (*CALLS, *SUMS)),
    (listed.CODES, (*PAIRS, *SUMS)),
    ((*listed.ROWS, *listed.BLOCKS, *listed.PARSE), BAM),
    (listed.TRIAL, (*SHORT, *LONG, *CALLS, *PAIRS, *SUMS)),
)
OTHERS = range(1, len(CAPABILITIES) if IS_EMULATED else 1)
DEVICES = [0, *(pytest.param(device, marks=pytest.mark.weekly) for device in OTHERS)]


def rows() -> dict[tuple[str, str], set[str]]:
    """The commands that need each kernel of the package and signature."""
    found = defaultdict(set)
    for kernels, commands in NEEDED:
        for kernel in kernels:
            found[kernel.compiled_by().name, signature_of(kernel)].update(commands)
    return found


def test_the_table_has_the_kernels_whose_machine_code_is_examined():
    """Of which tests/gpu/test_signatures.py sees that commands launch no others."""
    assert rows() == {
        (entry.kernel, entry.signature): entry.commands for entry in manifest.entries(manifest.CARD_TABLE)
    }
    assert {kernel.name for kernels, _ in NEEDED for kernel in kernels} == {kernel.name for kernel in listed.KERNELS}


@pytest.fixture
def loaded(monkeypatch):
    """The kernels for cards that are loaded, as if none had been, with their signatures."""
    found, obtain = set(), jit.obtain

    def noted(name, signature, level, *others):
        if level.machine == CARDS:
            found.add((name, signature))
        return obtain(name, signature, level, *others)

    monkeypatch.setattr(jit, "obtain", noted)
    return found


def forget_loaded() -> None:
    for kernel in (each for each in gc.get_objects() if type(each) is CardKernel):
        kernel._loaded.clear()


@pytest.mark.parametrize("device", DEVICES)
def test_warm_up_needs_nothing_that_is_not_prepared(device, tmp_path, loaded):
    path = tmp_path / "ref.fa"
    path.write_text(f">one\n{letters(3000, 5)}\n")
    index, card = Index.build(path), Backend("cuda", (device,))
    output = Encoder(index.reference.names), Preparer("coordinate", Libraries.of([]))
    work = {
        "align": lambda: steps.warm_up(steps.place(index, card), AlignParameters(), output),
        "align.long": lambda: steps.warm_up(steps.place(index, card), PRESETS["hifi"].parameters, output),
        "call": lambda: pairhmm.warm_up(card),
    }
    for command, warm_up in work.items():
        (entries,) = card.needed_by(command).values()
        loaded.clear()
        forget_loaded()
        with card.on(), card.frame():
            warm_up()
        assert loaded and loaded <= {(entry.kernel, entry.signature) for entry in entries}


def test_what_other_processes_compiled_is_launched(tmp_path, monkeypatch):
    """Progress is told as for the CPU, and of `readwarp compile` too."""
    row = next(entry for entry in manifest.entries(manifest.CARD_TABLE) if entry.kernel.endswith("trial:square"))
    monkeypatch.setenv("READWARP_CACHE", str(tmp_path / "cache"))
    small = min(manifest.entries(), key=lambda entry: entry.seconds)._replace(commands=frozenset({"pair_hmm"}))
    monkeypatch.setattr(manifest, "entries", lambda *table: (row,) if table else (small,))
    forget_folders()
    try:
        states, told = [], []
        assert prepare.prepare("pair_hmm", 1, states.append, Backend("cuda", (0,)).needed_by) == 2
        assert states[-1][:3] == (1, 1, 1.0) and "compiling 1 kernel, one time only" in str(states[0])
        forget_loaded()
        with jit.listen(lambda *news: told.append(news)):
            assert trial.run(0)
        assert told == []
        assert (
            main(["compile", "--capability", "9.0", "--command", "pair_hmm", "-o", str(tmp_path / "other"), "-q"]) == 0
        )
    finally:
        forget_folders()
    forget_loaded()


def seconds_of(name: str, signature: str) -> float:
    begin = time.process_time()
    kernel_of(name).make(signature, card_level((9, 0)))
    return time.process_time() - begin


def record() -> None:
    """Write the table. Seconds are those of compiling a kernel here, alone; those of a row that is kept stay."""
    known = {(entry.kernel, entry.signature): entry.seconds for entry in manifest.entries(manifest.CARD_TABLE)}
    seconds = {row: known.get(row) or seconds_of(*row) for row in rows()}
    manifest.write(
        [ManifestEntry(*row, seconds[row], frozenset(commands)) for row, commands in rows().items()],
        manifest.CARD_TABLE,
    )


if __name__ == "__main__":
    record()
