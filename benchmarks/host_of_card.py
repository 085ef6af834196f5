"""What a card costs its host: host_of_card.py [FOLDER] [--bases 4194304 16777216] [--repeats 10] [--call]

Aligns a batch of reads (chr20 at 15x, 2 x 150, prepare.py) on the emulated card (tests/emulated_card). The batch is
aligned once with kernels that run, then again with kernels that cost nothing: copies from the card bring what they
brought the first time. Of the thread that works on the batch, for each stage, in microseconds a read:

    cpu            its CPU time
    interpreter    the part of it in which the thread holds Python's lock, by samples of its CPU time
                   (tools/lock_sampler.c); all threads share this lock, so 1 / interpreter bounds the reads a second

`write` is what the main thread does with the batch. Then, of the batch: launches and the arrays that they take, copies
up and down and their bytes, waits, and arrays of the card that Python makes. What the driver is called for is done by
the emulated one, mostly without the lock. Appends to results/host_of_card.csv.

--launches 5 launches each kernel five times where it costs nothing, so that the difference is what launches cost.

Last comes one line of JSON, of whole commands with the largest --bases: microseconds a read of all threads' CPU time
for `align`, unsorted and sorted, on the emulated card and on the CPU; `lock`, the part of `align` in which the thread
that reads, works and writes holds Python's lock; launches and waits a batch, and bytes up and down a read. On the card
the same batch is aligned again and again, while further batches are read. Compression of the output is timed apart.

With --call, WINDOWS bases of `call` in the middle of chr20, window by window, and all by called base: cpu and
interpreter in nanoseconds, the other figures by a million bases. --bases are those of a window. --device shared is the
same where worker processes share a card: `answer` is what the first process does for them, all else is theirs; messages
are not counted. --device cpu is the same on cores alone. Appends to results/host_of_card_call.csv.
"""

import argparse
import ctypes
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from pathlib import Path
from threading import get_ident
from typing import Any
from unittest.mock import patch

sys.path.append(str(Path(__file__).resolve().parent.parent / "tests"))

import numpy as np

import emulated_card
import prepare
from emulated_card.build import compile_library
from measure import CIRCUMSTANCES, Row, append, circumstances, show

HERE = Path(__file__).resolve().parent
FIGURES = "what", "cpu", "interpreter", "number"
COLUMNS = {
    "host_of_card": (*CIRCUMSTANCES, "bases", "reads", *FIGURES),
    "host_of_card_call": (*CIRCUMSTANCES, "device", "bases", *FIGURES),
}
COUNTED = ("launches", "arrays", "copies_up", "bytes_up", "copies_down", "bytes_down", "waits")
BATCHES = 6  # after the first two
BLOCK, COMPRESSION = 0xFF00, 4  # of BGZF
MICROSECONDS = 1000  # of CPU time between two samples; the system may take them less often
CARD = "9.0:16G"
DEVICES = {"cuda": "cuda", "shared": "cuda", "cpu": "cpu"}  # of --call
USUAL_BASES = {"host_of_card": (1 << 22, 1 << 24), "host_of_card_call": (1 << 17, 1 << 18)}
WINDOWS, SKIPPED = 1 << 20, 1 << 22  # bases of `call` that are timed, and those before them


class Sampler:
    """CPU seconds of the calling thread since the start, and those of them in which it held Python's lock."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL(str(compile_library("lock_sampler", [HERE / "tools" / "lock_sampler.c"])))
        check = ctypes.cast(ctypes.pythonapi.PyGILState_Check, ctypes.c_void_p)
        if self._library.start_sampling(check, ctypes.c_long(MICROSECONDS)):
            sys.exit("the system has no timer for the CPU time of a thread")

    def now(self) -> tuple[float, int, int]:
        """(CPU seconds, samples, samples with the lock)"""
        found = (ctypes.c_uint64 * 2)()
        self._library.read_samples(found)
        return time.thread_time(), found[0], found[1]


class Stages:
    """What each stage took, of all batches; nested stages count once, in the inner one."""

    def __init__(self, sampler: Sampler) -> None:
        self.sampler, self.spent, self._open = sampler, dict[str, list[float]](), ["between"]  # batches
        self._last, self._thread = sampler.now(), get_ident()

    def _charge(self) -> None:
        now = self.sampler.now()
        spent = self.spent.setdefault(self._open[-1], [0.0, 0, 0])
        for each in range(3):
            spent[each] += now[each] - self._last[each]
        self._last = now

    @contextmanager
    def time(self, stage: str) -> Iterator[None]:
        """In place of Metrics.time; other threads compress."""
        if get_ident() != self._thread:
            yield
            return
        self._charge()
        self._open.append(stage)
        try:
            yield
        finally:
            self._charge()
            self._open.pop()

    @contextmanager
    def timing(self) -> Iterator[None]:
        """What is done in the block is charged to its stages."""
        from readwarp.metrics import Metrics

        with patch.object(Metrics, "time", lambda metrics, stage: self.time(stage)):
            yield

    def rows(self, items: float) -> Iterator[Row]:
        """Microseconds an item of each stage, and of all."""
        spent = {stage: figures for stage, figures in self.spent.items() if stage != "between"}
        spent["all"] = [sum(each) for each in zip(*spent.values(), strict=True)]
        for stage, (seconds, samples, held) in spent.items():
            cpu = 1e6 * seconds / items
            yield {"what": stage, "cpu": round(cpu, 4), "interpreter": round(cpu * held / max(samples, 1), 4)}


def measure(
    work: Callable[[Any], Any], item: Any, repeats: int, launches: int = 1
) -> tuple[Stages, dict[str, int], Any]:
    """The stages of so many repeats of the work on an item, what one of them asks of the card, and its result."""
    emulated_card.set_replay("keeping")
    before = emulated_card.counts()
    with counting_arrays() as made:
        work(item)
    counts = {name: number - before[name] for name, number in emulated_card.counts().items() if name in COUNTED}
    stages = Stages(Sampler())
    with stages.timing(), launching(launches):
        for _ in range(repeats):
            emulated_card.set_replay("repeating")
            with stages.time("other"):
                result = work(item)
    emulated_card.set_replay("running")
    return stages, counts | made, result


@contextmanager
def counting_arrays() -> Iterator[Counter[str]]:
    """The number of arrays of the card that Python makes in the block."""
    from readwarp.device.card_array import CardArray

    made, init = Counter[str](), CardArray.__init__

    def counting_init(self: Any, *arguments: Any, **named: Any) -> None:
        made["arrays made"] += 1
        init(self, *arguments, **named)

    with patch.object(CardArray, "__init__", counting_init):
        yield made


@contextmanager
def batches_by(run: Callable[[Iterator[Any], Callable[[Any], Any]], Iterator[Any]]) -> Iterator[None]:
    """The batches of `align` go through run(batches, work), in this thread."""
    from readwarp.stream.workers import Threads

    def map_ordered(threads: Any, work: Callable[[Any, Any], Any], items: Iterator[Any], *_: Any) -> Any:
        results = run(iter(items), partial(work, threads.state))
        return (result for result in results)  # can be closed

    with patch.object(Threads, "map_ordered", map_ordered):
        yield


@contextmanager
def launching(times: int) -> Iterator[None]:
    """So often instead of once."""
    from readwarp.device.launch import CardKernel

    launch = CardKernel.launch

    def launch_often(self: Any, where: Any, *arguments: Any) -> None:
        for _ in range(times):
            launch(self, where, *arguments)

    with patch.object(CardKernel, "launch", launch_often):
        yield


def measured(reference: Path, reads: list[Path], bases: int, out: Path, options: argparse.Namespace) -> Iterator[Row]:
    """Rows of a batch of that many bases, the second of the input."""
    from readwarp.cli import main

    rows: list[Row] = []

    def run(items: Iterator[Any], work: Callable[[Any], Any]) -> Iterator[Any]:
        next(items)  # its reads were also those that the insert sizes are estimated from
        item = next(items)
        stages, counts, result = measure(work, item, options.repeats, options.launches)
        with stages.timing():
            for _ in range(options.repeats):
                yield result  # to be written
        number = 2 * item[0].templates
        rows.extend(stages.rows(number * options.repeats))
        rows.extend({"what": name, "number": value} for name, value in counts.items())
        for row in rows:
            row |= {"bases": bases, "reads": number}

    with batches_by(run):
        main([
            *("align", str(reference), *map(str, reads), "-o", str(out), "-f", "-q", "-t", "1"),
            *("--device", "cuda", "--batch-bases", str(bases)),
        ])  # fmt: skip
    yield from rows


@dataclass
class Blocks:
    """The compressor of BAM on the card, which costs nothing and gives zeros, and what was to be compressed."""

    largest: Any = field(default_factory=lambda: np.empty(0, np.uint8))  # group
    size: int = 0  # bytes of all groups

    def __call__(self, parts: Sequence[Any]) -> tuple[Any, Any]:
        size = sum(part.size for part in parts)
        self.size += size
        if size > self.largest.size:
            self.largest = np.concatenate(parts)
        sizes = np.full(-(-size // BLOCK), BLOCK // COMPRESSION)
        return np.zeros(sizes.sum(), np.uint8), sizes

    def measure(self, repeats: int) -> tuple[float, float, dict[str, int], int]:
        """CPU seconds of the compression, those with the lock, and what it asks of the card; all of these bytes."""
        from readwarp.device.backend import Backend
        from readwarp.finish.cuda_blocks import CardBlocks
        from readwarp.metrics import Metrics

        blocks = CardBlocks(Backend("cuda", (0,)), 1 << 33, 1 << 34, Metrics())
        group = self.largest[: blocks.group]
        stages, counts, _ = measure(blocks, [group], repeats)
        blocks.close()
        seconds, samples, held = (sum(each) / repeats for each in zip(*stages.spent.values(), strict=True))
        return seconds, seconds * held / max(samples, 1), counts, group.size


def whole(reference: Path, reads: list[Path], out: Path, device: str, sort: str, options: Any) -> dict[str, float]:
    """What a read costs the host in `align`, and what a batch asks of the card."""
    from readwarp.cli import main
    from readwarp.finish.cuda_blocks import CardBlocks

    is_card, blocks, made = device == "cuda", Blocks(), dict[str, Any]()

    def run(items: Iterator[Any], work: Callable[[Any], Any]) -> Iterator[Any]:
        next(items)  # its reads were also those that the insert sizes are estimated from
        first = next(items)
        emulated_card.set_replay("keeping")
        before = emulated_card.counts()
        work(first)
        made.update({name: number - before[name] for name, number in emulated_card.counts().items()})
        blocks.size = 0
        made["reads"], made["batch"] = 0, 2 * first[0].templates
        made["begin"], sampler = time.process_time(), Sampler()
        begin = sampler.now()
        for item in islice(items, BATCHES if is_card else None):
            if is_card:
                emulated_card.set_replay("repeating")
            made["reads"] += 2 * (first if is_card else item)[0].templates
            yield work(first if is_card else item)
        seconds, samples, held = (now - then for now, then in zip(sampler.now(), begin, strict=True))
        made["lock"] = seconds * held / max(samples, 1)
        emulated_card.set_replay("running")

    with ExitStack() as stack:
        stack.enter_context(batches_by(run))
        if is_card:
            stack.enter_context(patch.object(CardBlocks, "__call__", lambda _, parts: blocks(parts)))
        main([
            *("align", str(reference), *map(str, reads), "-o", str(out), "-f", "-q", "-t", "1", "--sort", sort),
            *("--device", device, *(("--batch-bases", str(max(options.bases))) if is_card else ())),
        ])  # fmt: skip
        made["seconds"] = time.process_time() - made["begin"]
    if is_card:
        seconds, lock, counts, size = blocks.measure(options.repeats)
        groups = blocks.size / size
        made["seconds"] += groups * seconds
        made["lock"] += groups * lock
        for name in COUNTED:
            made[name] += counts[name] * groups * made["batch"] / made["reads"]
    return {name: value / made["reads"] if name in ("seconds", "lock") else value for name, value in made.items()}


def summary(reference: Path, reads: list[Path], out: Path, options: argparse.Namespace) -> str:
    """The line of JSON."""
    given = {
        "align" + where + how: whole(reference, reads, out, device, sort, options)
        for how, sort in (("", "none"), ("_sorted", "coordinate"))
        for where, device in (("", "cuda"), ("_cpu", "cpu"))
    }
    card = given["align"]
    return json.dumps(
        {name: round(1e6 * each["seconds"], 3) for name, each in given.items()}
        | {"lock": round(1e6 * card["lock"], 3)}
        | {name: round(card[name], 1) for name in ("launches", "waits")}
        | {name: round(card[name] / card["batch"], 1) for name in ("bytes_up", "bytes_down")}
    )


def measured_call(
    reference: Path, alignments: Path, size: int, out: Path, options: argparse.Namespace
) -> Iterator[Row]:
    """Rows of windows of so many bases."""
    from readwarp.call.windows import run as windows
    from readwarp.call.windows.resources import DEPTH_OF_A_BATCH
    from readwarp.cli import main

    rows: list[Row] = []

    def run(workers: Any, work: Callable[[Any, Any], Any], items: Iterator[Any], *_: Any) -> Iterator[Any]:
        own = list(islice(items, SKIPPED // size, (SKIPPED + WINDOWS) // size))

        calling = share(workers.state) if options.device == "shared" else workers.state

        def call(places: list[Any]) -> None:
            for place in places:
                work(calling, place)

        stages, counts, _ = measure(call, own, options.repeats)
        called = sum(place.stop - place.start for place in own)
        rows.extend(stages.rows(called * options.repeats / 1000))
        rows.extend({"what": name, "number": round(1e6 * value / called, 1)} for name, value in counts.items())
        for row in rows:
            row |= {"device": options.device, "bases": size}
        return iter(())

    with patch.object(windows, "map_counted", run):
        main([
            *("call", str(reference), str(alignments), "-o", str(out), "-f", "-q", "-t", "1"),
            *("--device", DEVICES[options.device], "--batch-bases", str((size - 1) * DEPTH_OF_A_BATCH)),
        ])  # fmt: skip
    yield from rows


def share(calling: Any) -> Any:
    """As a worker process has it, but what it asks is answered in this thread."""
    from readwarp.call.likelihoods.pairhmm.given import log_likelihoods_by
    from readwarp.metrics import Metrics

    def ask(given: Any) -> Any:
        with Metrics().time("answer"):
            return calling.shared.answer(given)

    return replace(calling, steps=replace(calling.steps, log_likelihoods=partial(log_likelihoods_by, ask)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--call", action="store_true")
    parser.add_argument("--bases", type=int, nargs="+")
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--device", choices=DEVICES, default="cuda", help="with --call")
    parser.add_argument("--launches", type=int, default=1, help="of each kernel; more than one is not saved")
    parser.add_argument("--no-save", action="store_true")
    options = parser.parse_args()
    emulated_card.activate(CARD)
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder, name = options.folder or scratch, "chr20x15"
        reads = [folder / f"{name}_{mate}.fq" for mate in (1, 2)]
        if not reads[0].exists():
            prepare.SETS[name](folder)
        reference, table = folder / "chr20.fa", "host_of_card_call" if options.call else "host_of_card"
        measure_one = partial(measured, reference, reads, out=scratch / "out.bam", options=options)
        if options.call:
            alignments = folder / f"{name}.bam"
            if not alignments.exists():
                align(reference, reads, alignments)
            measure_one = partial(measured_call, reference, alignments, out=scratch / "out.vcf", options=options)
        for bases in options.bases or USUAL_BASES[table]:
            rows = [dict(zip(CIRCUMSTANCES, circumstances(), strict=True)) | row for row in measure_one(bases)]
            for row in rows:
                show(row)
            if not (options.no_save or options.launches > 1):
                append(rows, HERE / "results" / f"{table}.csv", COLUMNS[table])
        if not options.call:
            options.bases = options.bases or USUAL_BASES[table]
            print(summary(reference, reads, scratch / "out.bam", options))


def align(reference: Path, reads: list[Path], out: Path) -> None:
    """The reads as `run` leaves them for `call`."""
    from readwarp.cli import main

    main([
        *("align", str(reference), *map(str, reads), "-o", str(out), "--sort", "coordinate", "--mark-duplicates"),
        *("--device", "cpu", "-q"),
    ])  # fmt: skip


if __name__ == "__main__":
    main()
