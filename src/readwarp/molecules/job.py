"""Run the consensus job: from aligned reads with molecules to a file of consensus reads."""

import logging
import re
import time
from collections import Counter
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from readwarp.config import ConsensusParameters
from readwarp.errors import InputError
from readwarp.formats.alignments.header import check_ids, field, header_text, lines_of, program_lines
from readwarp.formats.common.files import check_inputs, check_output, locked
from readwarp.formats.reads.bam import read_header, read_records
from readwarp.formats.reads.unaligned import open_writer
from readwarp.metrics import Metrics
from readwarp.molecules.group import Gathering
from readwarp.molecules.memory import ByteBudget, plan_memory
from readwarp.molecules.model import make_model
from readwarp.molecules.steps import ConsensusSteps
from readwarp.molecules.tags import ConsensusNaming
from readwarp.stream.plan import FREE_SHARE
from readwarp.stream.reporter import Reporter, Result
from readwarp.stream.runner import map_ordered
from readwarp.system.machine import free_memory
from readwarp.wording import counted

logger = logging.getLogger("readwarp")
GROUP = "A"  # ID of the read group, named as in fgbio
STRANGE = re.compile("[^!-?A-~]")  # letters not allowed in read names
LONGEST_PREFIX = 200  # letters of a name; at most 254 with the molecule's
FIELDS = ("DS", "LB", "SM", "PL", "PU", "CN")  # fields of a read group that the output keeps


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsensusJob:
    alignments: Path  # BAM or CRAM with MI, sorted by coordinate or grouped by molecule
    output: Path  # BAM, SAM or FASTQ by its extension
    parameters: ConsensusParameters
    reference: Path | None = None  # FASTA, for CRAM
    read_group_id: str = GROUP
    read_name_prefix: str | None = None  # None: the libraries and read groups
    per_base_tags: bool = True
    command: str | None = None  # for @PG; None: no @PG
    threads: int = 1
    memory: int | None = None  # bytes; None: the free memory, less a margin
    force: bool = False  # replace an existing output


class Input(NamedTuple):
    path: Path
    header: str
    by_place: bool  # sorted by coordinate
    prefix: str  # prefix of consensus read names

    @classmethod
    def open(cls, path: Path) -> "Input":
        """Read the header. Raises InputError for a file that is sorted by name, or has several samples."""
        header = read_header(str(path))
        order = next(iter(lines_of(header, "HD")), "")
        if field(order, "SO") == "queryname":
            raise InputError(path, "is sorted by name: sort it by coordinate")
        groups = lines_of(header, "RG")
        check_ids(path, groups)
        samples = sorted({field(line, "SM") or "" for line in groups})
        if len(samples) > 1:
            raise InputError(path, f"has reads of several samples ({', '.join(samples)}): split it (`samtools split`)")
        named = ((field(line, "LB"), field(line, "ID")) for line in groups)
        names = sorted({".".join(dict.fromkeys(filter(None, both))) for both in named}) or ["consensus"]
        prefix = "|".join(names)
        return cls(path, header, field(order, "SO") == "coordinate", STRANGE.sub("_", prefix[:LONGEST_PREFIX]))

    def output_header(self, group: str, command: str | None) -> str:
        """Make the header of unaligned reads of one read group."""
        groups, programs = lines_of(self.header, "RG"), lines_of(self.header, "PG")
        line = f"@RG\tID:{group}"
        for name in FIELDS:
            values = dict.fromkeys(value for each in groups if (value := field(each, name)))
            if values:
                line += f"\t{name}:{','.join(values)}"
        return header_text([], "none", [line], program_lines(programs, command) if command else programs)


def run_consensus(job: ConsensusJob, reporter: Reporter) -> Result:
    """Run the job. Raises ReadwarpError."""
    check_inputs([job.alignments])
    check_output(job.output, job.force, [job.alignments])
    metrics, started = reporter.metrics, time.perf_counter()
    sizes = Counter[int]()
    with locked(job.output):
        source = Input.open(job.alignments)
        memory = plan_memory(job.memory or int(free_memory() * FREE_SHARE))
        steps = make_steps(job, source, ByteBudget(memory.work))
        gathering = Gathering(job.alignments, source.by_place, job.parameters.duplex, memory, job.threads)
        header = source.output_header(job.read_group_id, job.command)
        reporter.prepare("consensus", job.threads)
        references = () if job.reference is None else (str(job.reference),)
        with (
            reporter.progress("consensus", "reads") as meter,
            open_writer(str(job.output), header, job.threads) as writer,
            closing(read_records(job.alignments, references, job.threads)) as records,
            closing(map_ordered(gathering.families(records), steps.run, job.threads, job.threads + 1)) as results,
        ):
            for made in results:
                writer.write(made.reads)
                for name, number in made.counts.items():
                    metrics.count(name, number)
                sizes.update(made.sizes)
                meter.advance(made.counts["reads"])
    for fate, number in gathering.fates.items():
        if fate != "taken":
            metrics.count(f"records_{fate}", number)
    metrics.note(family_sizes={str(size): sizes[size] for size in sorted(sizes)})
    log_counts(metrics)
    metrics.note(consensus_seconds=round(time.perf_counter() - started, 3))
    return Result.of(metrics, {"reads": job.output})


def log_counts(metrics: Metrics) -> None:
    """Log the numbers of reads, molecules and consensus reads."""
    count = metrics.counts.get
    molecules, given = count("molecules", 0), count("consensus_molecules", 0)
    logger.info(
        "%s from %s of %s; %s yielded no consensus",
        counted(count("consensus_reads", 0), "consensus read"),
        counted(count("reads", 0), "read"),
        *(counted(molecules, "molecule"), counted(molecules - given, "molecule")),
    )


def make_steps(job: ConsensusJob, source: Input, room: ByteBudget) -> ConsensusSteps:
    prefix = f"{source.prefix if job.read_name_prefix is None else job.read_name_prefix}:"
    naming = ConsensusNaming(
        np.frombuffer(prefix.encode(), np.uint8),
        np.frombuffer(job.read_group_id.encode(), np.uint8),
        job.parameters.duplex,
        job.per_base_tags,
    )
    return ConsensusSteps(job.alignments, job.parameters, make_model(job.parameters), naming, room)
