"""Provide readwarp.Caller, which calls variants from Python."""

from collections.abc import Generator, Iterable, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Unpack

from readwarp.call.places.targets import CallTargets, as_regions
from readwarp.call.records.variant_job import FIELDS, HeaderFields, count_calls
from readwarp.call.windows.run import Calling
from readwarp.caller.api import parameters_of
from readwarp.caller.job import call_variants
from readwarp.caller.opening import CallJob, open_calling
from readwarp.caller.results import Genotype, Variant, Variants
from readwarp.compiler.prepare import prepare_once
from readwarp.config.combinations import check_together
from readwarp.config.commands import CallerOptions
from readwarp.config.options import Region
from readwarp.errors import UsageError
from readwarp.formats.common.files import check_inputs, locked
from readwarp.formats.variants.calls import Calls
from readwarp.index.build import read_reference
from readwarp.metrics import Metrics
from readwarp.python.keywords import AnyPath, as_paths, as_texts, path_or_none
from readwarp.stream.choice import resources_of
from readwarp.stream.display import check_new
from readwarp.stream.reporter import Reporter
from readwarp.stream.workers import Threads

__all__ = ["Caller", "Genotype", "Variant", "Variants"]


class Caller:
    """Variant caller for sorted alignments, with the results of `readwarp call`. Can be pickled for other processes.

    reference: the path of a FASTA, GenBank or EMBL file, or of an index; circular: names of circular contigs; threads:
    None for all that this process may use; parameters: the long options of the command, such as ploidy=1, mixture=True,
    min_base_quality=15, and the fields of `readwarp.config.CallParameters`.

        caller = readwarp.Caller("ref.fa", ploidy=1)
        for variant in caller.call("sample.bam", ["chr20:1-1,000,000"]):
            print(variant.contig, variant.position, variant.alleles)
        caller.call("sample.bam").to_pandas()
        caller.write("sample.bam", "sample.vcf.gz")
    """

    def __init__(
        self,
        reference: str | Path,
        *,
        circular: str | Iterable[str] = (),
        threads: int | None = None,
        device: str = "cpu",
        **parameters: Unpack[CallerOptions],
    ):
        self.path, self.circular = Path(reference), as_texts(circular)
        self.parameters = parameters_of(parameters)
        self.population = path_or_none(parameters.get("population"))
        self.panel = path_or_none(parameters.get("panel_of_normals"))
        self.resources = resources_of({"threads": threads, "device": device})
        check_inputs([self.path, *(path for path in (self.population, self.panel) if path)])
        prepare_once(self._kernels)  # checked first: compiling may take a minute
        self.reference = read_reference(self.path)
        self.metrics = Metrics()

    def __repr__(self) -> str:
        return f"Caller({self.path}, ploidy={self.parameters.ploidy}, threads={self.resources.threads})"

    def __getstate__(self) -> tuple[Any, ...]:  # the other process reads the reference
        paths = (path and path.resolve() for path in (self.path, self.population, self.panel))
        return *paths, self.circular, self.parameters, self.resources

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.path, self.population, self.panel, self.circular, self.parameters, self.resources = state
        self.reference, self.metrics = read_reference(self.path), Metrics()

    def call(
        self,
        alignments: AnyPath | Sequence[AnyPath],
        regions: Region | Iterable[Region] | None = None,
        *,
        samples: Iterable[str] = (),
        alleles: str | Path | None = None,
        ploidies: str | Path | None = None,
        primers: str | Path | None = None,
    ) -> Variants:
        """Return an iterator over variants sorted by position, as they are found; it also makes tables and files.

        alignments: sorted and indexed BAM or CRAM files, one or several. regions: one or several, as on the command
        line or (contig, start, stop), 0-based and half-open; None: the whole reference. samples: to call together, by
        default all in the headers. alleles: a VCF file of alleles that are always genotyped. ploidies, primers: BED
        files. Raises InputError and UsageError.
        """
        job = self._job(alignments, regions, samples, alleles, ploidies, primers)
        check_inputs(job.alignments)
        with ExitStack() as stack:  # invalid input is refused here, not at the first variant
            opened = open_calling(job, self.reference, self.metrics, False, partial(prepare_once, self._kernels))
            calling = stack.enter_context(opened)
            fields = FIELDS
            if calling.steps.platform.is_long:
                prepare_once("call.long")
            if self.parameters.fractions:
                from readwarp.caller.fractions import check_fractions

                check_fractions(job, calling)
                found, fields = self._weigh(calling, stack.pop_all())
            else:
                found = self._found(calling, stack.pop_all())
            return Variants(job, self.reference, found, calling.samples, fields)

    @property
    def _kernels(self) -> str:
        return "call.fractions" if self.parameters.fractions else "call"

    def _found(self, calling: Calling, opened: ExitStack) -> Generator[Calls, None, None]:
        """Yield calls as they are made, then close everything."""
        workers = Threads(calling, calling.plan.threads)
        with opened, closing(calling.run(workers, Calling.call)) as windows:
            yield from self._counted(found.calls for window in windows for found in window)

    def _counted(self, found: Iterable[Calls]) -> Generator[Calls, None, None]:
        for calls in found:
            count_calls(calls, self.metrics)
            yield calls

    def _weigh(self, calling: Calling, opened: ExitStack) -> tuple[Generator[Calls, None, None], HeaderFields]:
        """Call alleles by fractions, which need all reads first, and describe their header."""
        from readwarp.somatic.fractions.shortlist import FRACTION_FIELDS
        from readwarp.somatic.run import gather_fractions

        workers = Threads(calling, calling.plan.threads)
        with opened:
            found, extra = gather_fractions(calling, workers)
        return self._counted(found), FRACTION_FIELDS._replace(extra=extra)

    def write(
        self,
        alignments: AnyPath | Sequence[AnyPath],
        output: str | Path,
        regions: Region | Iterable[Region] | None = None,
        *,
        samples: Iterable[str] = (),
        gvcf: bool = False,
        alleles: str | Path | None = None,
        ploidies: str | Path | None = None,
        primers: str | Path | None = None,
        force: bool = False,
    ) -> None:
        """Write variants to a .vcf, .vcf.gz or .bcf file; see `call`. force: replace an existing file.

        Raises OutputExistsError, InputError and UsageError.
        """
        check_together("call", {"gvcf": gvcf, "alleles": alleles, "max_mnp_distance": self.parameters.max_mnp_distance})
        job = replace(
            self._job(alignments, regions, samples, alleles, ploidies, primers), output=Path(output), gvcf=gvcf
        )
        check_new(Path(output), force, [self.path, *job.alignments])
        check_inputs(job.alignments)
        reporter = Reporter(job.command)
        with locked(job.output):
            call_variants(job, self.reference, reporter)
        self.metrics.include(reporter.metrics)

    def _job(
        self,
        alignments: AnyPath | Sequence[AnyPath],
        regions: Region | Iterable[Region] | None,
        samples: Iterable[str],
        *files: str | Path | None,
    ) -> CallJob:
        for given in as_paths(alignments):
            if not isinstance(given, str | Path) and not hasattr(given, "__fspath__"):
                kind = type(given).__name__
                raise UsageError(
                    f"alignments: {kind} is not a path; give the name of a sorted, indexed BAM or CRAM file"
                )
        alleles, ploidies, primers = (Path(file) if file else None for file in files)
        return CallJob(
            reference=self.path,
            alignments=tuple(map(Path, as_paths(alignments))),
            parameters=self.parameters,
            resources=self.resources,
            places=CallTargets(regions=as_regions(regions)),
            command="readwarp.Caller",
            samples=(samples,) if isinstance(samples, str) else tuple(samples),
            alleles=alleles,
            ploidies=ploidies,
            primers=primers,
            circular=self.circular,
            population=self.population,
            panel_of_normals=self.panel,
        )
