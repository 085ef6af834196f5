"""Alignment of reads given in Python."""

from collections.abc import Iterable
from dataclasses import replace as change
from pathlib import Path
from typing import Any, Unpack

from readwarp.align import steps, trim
from readwarp.align.alternates import Alternates, read_alternates
from readwarp.align.api import ALTERNATES, alignment_parameters, alternates_of, given_sizes
from readwarp.align.insert_models import InsertModels, InsertSizes
from readwarp.align.results import Record, Records
from readwarp.compiler.prepare import prepare_once
from readwarp.config import MAX_READ_LENGTH, AlignParameters
from readwarp.config.commands import AlignerOptions
from readwarp.device import backend as backends
from readwarp.errors import UsageError
from readwarp.formats.common.files import check_inputs
from readwarp.index import Index, open_or_build
from readwarp.metrics import Metrics
from readwarp.python.keywords import check_keywords, explain_names
from readwarp.python.sequences import Read, read_of, several
from readwarp.ragged import replace
from readwarp.system.machine import usable_threads
from readwarp.wording import counted

__all__ = ["Aligner", "AlignerOptions", "Record", "Records"]


class Aligner:
    """An aligner of reads given in Python, with the options and results of `readwarp align`.

    index: an `Index`, its path, or the path of a reference, whose index is opened or built. parameters: every setting;
    options (`AlignerOptions`): those of the command line, such as preset="short", eqx=True, mismatch=3,
    insert_size=(400, 90); alt="ref.alt" may be given with parameters too. device: cpu, cuda or auto. insert_sizes: the
    model for pairs, by default estimated from the pairs of each call. Safe to use from several threads, and picklable
    for several processes.

        aligner = readwarp.Aligner("ref.fa")
        for record in aligner.align(["ACGT...", "TTGA..."]):
            print(record.name, record.contig, record.position, record.cigar)
        aligner.align(dnaio.open("reads.fq.gz")).write("out.bam")
        aligner.align([("pair", "ACGT...", "IIII...")], [("pair", "TTGA...", "IIII...")])
    """

    def __init__(
        self,
        index: Index | str | Path,
        parameters: AlignParameters | None = None,
        device: str = "cpu",
        insert_sizes: InsertSizes | None = None,
        **options: Unpack[AlignerOptions],
    ):
        check_keywords("Aligner", options, AlignerOptions)
        if parameters is not None and options.keys() - ALTERNATES:
            raise UsageError(f"Aligner: give either parameters or options ({', '.join(options)})")
        wanted = parameters or alignment_parameters(options)
        seeds = wanted.seed if options.get("preset") else None
        backend, given = backends.choose(device), insert_sizes or given_sizes(options)
        if not isinstance(index, Index):
            check_inputs([index])
        prepare_once(kernels_of(wanted), backend.needed_by)  # after all checks: it may take a minute
        if isinstance(index, Index):
            self.index, self._fasta = index, None
        else:
            self.index, self._fasta = open_or_build(index, seeds, usable_threads()), Path(index)
        place = alternates_of(self._fasta, options)
        alternates = None if place is None else read_alternates(place, self.index.reference)
        have = self.index.parameters
        if parameters is None:
            wanted = change(wanted, seed=change(wanted.seed, k=have.k, s=have.s, t=have.t))
        self.parameters = wanted
        self.insert_sizes = given
        self.device = device
        self._place(backend, alternates)

    def __repr__(self) -> str:
        return f"Aligner({self._fasta or self.index!r}, device={self.device!r})"

    def __getstate__(self) -> tuple[Any, ...]:
        given = self.index, self._fasta, self.parameters, self.insert_sizes, self.device
        return *given, self._placed.alternates

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.index, self._fasta, self.parameters, self.insert_sizes, self.device, alternates = state
        backend = backends.choose(self.device)
        prepare_once(kernels_of(self.parameters), backend.needed_by)
        self._place(backend, alternates)

    def _place(self, backend: backends.Backend, alternates: Alternates | None) -> None:
        if alternates is not None:
            prepare_once("align.alt")
        self.metrics = Metrics()
        with backend.on():
            self._placed = steps.place(self.index, backend, alternates=alternates)

    def align(self, reads: Any, mates: Any = None) -> Records:
        """Align all reads: the primary (or unmapped) record of each, then supplementary ones; mates are neighbours.

        reads, mates: an iterable of reads, or a single one. A read is a sequence (str, bytes, Seq), a record of
        Biopython (SeqRecord), dnaio or pysam (FastxRecord, AlignedSegment), or (name, sequence) or (name, sequence,
        qualities); qualities are text in Phred + 33, or numbers. Letters are IUPAC. Reads without a name are numbered.

        Without `insert_sizes`, the model is estimated from the pairs given here. When trimming, adapters that are not
        given are learned from them. Raises UsageError for anything that is not a read or a pair.
        """
        batch = steps.make_batch(list_reads(reads, mates), paired=mates is not None)
        placed, parameters = self._placed, self.parameters
        learned = trim.learn([batch], parameters.trim) if parameters.trim else None
        if parameters.trim and learned:
            parameters = replace(parameters, trim=trim.with_learned(parameters.trim, learned))
        with placed.backend.on():
            given = self.insert_sizes and InsertModels(self.insert_sizes)
            sizes = given or steps.train([batch], placed, parameters, self.metrics)
            batch, rows = steps.align_batch(batch, placed, sizes, parameters, self.metrics)
        return Records(batch, rows, self.index.reference, self._fasta, placed.alternates)


def kernels_of(parameters: AlignParameters) -> str:
    """Name an aligner with these parameters in the table of kernels."""
    kind = ".trim" if parameters.trim else ".long" if parameters.long.min_length <= MAX_READ_LENGTH else ""
    return f"Aligner{kind}"


explain_names(Aligner, {"map": "align", "seq_names": "index.reference.names"}, "records go by SAM's fields")


def list_reads(reads: Any, mates: Any = None) -> list[Read]:
    """List all reads, mates as neighbours. Raises UsageError."""
    firsts = _list(reads, "reads")
    if mates is None:
        return firsts
    lasts = _list(mates, "mates")
    if len(firsts) != len(lasts):
        raise UsageError(f"{counted(len(firsts), 'read')}, but {counted(len(lasts), 'mate')}")
    for first, last in zip(firsts, lasts, strict=True):
        if first.name != last.name:
            raise UsageError(f"mates have different names: {first.name} and {last.name}")
    return [read for pair in zip(firsts, lasts, strict=True) for read in pair]


def _list(given: Iterable[Any], argument: str) -> list[Read]:
    if isinstance(given, tuple) and given and all(isinstance(item, str) for item in given):
        raise UsageError(f"{argument}: a tuple of text is one read (name, sequence); give a list, [(name, sequence)]")
    return [read_of(read, number) for number, read in enumerate(several(given, argument))]
