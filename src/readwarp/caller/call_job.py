"""What a run of `call` was asked for."""

from dataclasses import dataclass, field
from pathlib import Path

from readwarp.call.records.variant_job import VariantJob
from readwarp.config import CallParameters, GenomeParameters, StructuralParameters
from readwarp.errors import UsageError


@dataclass(frozen=True, slots=True, kw_only=True)
class CallJob(VariantJob):
    """Calling job. Raises UsageError."""

    name = "call"
    alignments: tuple[Path, ...]  # sorted BAM or CRAM with an index (BAM without one for everything); - is a stream
    parameters: CallParameters = field(default_factory=CallParameters)
    samples: tuple[str, ...] = ()  # to call together; empty: all in the header
    gvcf: bool = False  # blocks of reference between the variants, for one sample
    alleles: Path | None = None  # VCF file whose alleles are always genotyped
    ploidies: Path | None = None  # BED file of intervals with their own ploidy, of all samples or one
    primers: Path | None = None  # BED file of the primers of an amplicon panel
    circular: tuple[str, ...] = ()  # contigs whose end is followed by their beginning
    bam_output: Path | None = None  # reads realigned to the called haplotypes
    haplotag: Path | None = None  # all records, tagged with the haplotypes of long reads
    structural: StructuralParameters = field(default_factory=StructuralParameters)
    sv: Path | None = None  # structural variants of long reads: .vcf, .vcf.gz or .bcf
    consensus: Path | None = None  # FASTA of a mixture's most frequent alleles
    population: Path | None = None  # indexed VCF file with the frequencies of alleles
    panel_of_normals: Path | None = None  # indexed VCF file of alleles that normal tissues show
    genome: GenomeParameters = field(default_factory=GenomeParameters)
    sv_only: bool = False  # `output` holds structural variants, and nothing else is called
    phred: int | None = None  # 33 or 64, of the base qualities; None: 33, unless they look like 64
    command: str = "readwarp call"

    def __post_init__(self) -> None:
        if not self.alignments:
            raise UsageError("no alignments are given")
        for option, path in (("--bam-output", self.bam_output), ("--haplotag", self.haplotag)):
            if path and path.suffix != ".bam":
                raise UsageError(f"{option} {path}: only BAM is written, so the name must end in .bam")
            if path and "-" in map(str, self.alignments):
                raise UsageError(f"{option} reads the alignments again: give a file with an index, not stdin (-)")

    @property
    def limits(self) -> CallParameters:
        return self.parameters

    @property
    def outputs(self) -> tuple[Path | None, ...]:
        return (self.output, *(path for path in (self.bam_output, self.haplotag, self.sv, self.consensus) if path))
