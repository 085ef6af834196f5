"""Options that are not parameters of a step: files, types of input, places, resources. Units: bases, bytes."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from readwarp.config.align import PRESETS, Preset
from readwarp.config.declare import AnyPath, Size, option, options

MAX_BATCH = 1 << 30  # bases: numbers of reads and bases in a batch have 31 bits
SORTS = ("coordinate", "name", "none")
Region = str | tuple[str, int, int]  # text, or contig, start, stop (0-based, half-open)


def preset_help(presets: Mapping[str, Preset]) -> str:
    text = ", ".join(f"{name} ({preset.reads})" for name, preset in presets.items())
    return f"{text}; minimap2's names, such as map-ont, are known [standard]"


@options
class FileOptions:
    file_list: AnyPath | None = option(None, "file that lists more inputs, one per line", "--list")
    output: AnyPath | None = option(None, "output", "-o")
    force: bool = option(False, "overwrite an existing output", "-f")

    def names(self, files: Iterable[AnyPath]) -> tuple[str, ...]:
        """Return the files, and @LIST for those on the list."""
        return *map(str, files), *((f"@{self.file_list}",) if self.file_list else ())


@options
class ReadOptions:
    """Arrangement of the reads in their files, and their read groups."""

    read_group: str | Sequence[str] | None = option(
        None, r"'@RG\tID:x\tSM:y'; once, or once per input [from file and read names]", "-R", metavar="LINE"
    )
    sample: str | None = option(None, "sample (SM) of all reads [BAM header or file name]")
    library: str | None = option(None, "library (LB) of all reads [BAM header or sample]")
    input_reference: AnyPath | None = option(
        None, "FASTA that CRAM was written with, if it is not REF [found by M5: REF, UR, REF_CACHE, REF_PATH]"
    )
    interleaved: bool = option(
        False, "FASTQ files are interleaved: neighbours of one name are mates, others single reads", "-p"
    )
    single: bool = option(False, "reads are unpaired, even in two FASTQ files; implied by --preset hifi, ont or asm")
    comments: bool = option(False, "keep FASTQ comments: SAM tags, or 1:N:0:ACGT as BC:Z:ACGT", "-C")
    phred64: bool = option(False, "qualities are Phred+64 (Illumina until 2011): convert them")
    phred33: bool = option(False, "qualities are Phred+33, even if they look like Phred+64")
    umi: str | None = option(
        None,
        "where UMIs are: name (end of read names), comment (RX:Z: in FASTQ comments), tag (RX in BAM), or read "
        "structures of both mates, such as 8M12S+T,+T (M UMI, S skip, T template, B sample and C cell barcode); "
        "duplicates must share the UMI",
        metavar="WHERE",
    )
    umi_duplex: bool = option(False, "duplex UMIs: two halves, swapped on the other strand; MI ends in /A or /B")


@options
class RecordOptions:
    """Files of alignments to write."""

    sort: str | None = option(None, "order of the records [none: as the input]", choices=SORTS)
    mark_duplicates: bool = option(False, "sort by coordinate and mark duplicates")
    write_index: bool = option(False, "sort by coordinate and write .bai or .crai")
    reference: AnyPath | None = option(
        None, "FASTA or index (.rwx), for CRAM input [found by M5: UR, REF_CACHE, REF_PATH]", metavar="REF"
    )
    no_pg: bool = option(False, "write no @PG line")
    paf: bool = option(False, "write PAF with CIGARs, as `minimap2 -c`")
    bgzf: str = option(
        "card",
        "side that compresses BAM beside a GPU: card, or cpu, to the bytes that --device cpu writes",
        choices=("card", "cpu"),
    )

    @property
    def order(self) -> str:
        """The requested order; without one, the order that marking and indexing need."""
        return self.sort or ("coordinate" if self.mark_duplicates or self.write_index else "none")


@options
class AlignmentOptions:
    index: AnyPath | None = option(
        None, "index of REF, built if missing [REF.rwx, or in a cache folder if that location is not writable]"
    )
    alt: AnyPath | None = option(None, "ALT contigs of REF, a SAM file as for bwa [REF.alt or REF.64.alt, if present]")
    no_alt: bool = option(False, "treat ALT contigs like any other, even with such a file")
    preset: str | None = option(None, preset_help(PRESETS), "-x", kind="preset", choices=PRESETS, metavar="NAME")
    insert_size: float | tuple[float | int, ...] | None = option(
        None,
        "insert size of FR pairs; SD is MEAN / 10 if left out, MAX and MIN are 4 SD from MEAN [estimated from the "
        "first pairs of each input]",
        "-I",
        kind="insert size",
        metavar="MEAN[,SD[,MAX[,MIN]]]",
    )


@options
class SeedOptions:
    k: int | None = option(None, "seed length, in bases [by the preset]", "-k")
    s: int | None = option(None, "syncmer word length, in bases [by the preset]", "-s")


@options
class TrimOptions:
    trim: bool = option(False, "trim adapters and poly-G tails; adapters are found by mate overlap or by sequence")
    adapter: AnyPath | Sequence[AnyPath] = option(
        (),
        "3' adapter of first and single reads: IUPAC sequence or FASTA file; may be repeated [TruSeq, Nextera, "
        "small RNA, MGI]",
        metavar="SEQ",
    )
    adapter2: AnyPath | Sequence[AnyPath] = option(
        (), "3' adapter of second reads; may be repeated [as --adapter]", metavar="SEQ"
    )


@options
class StepOptions:
    """Parts of a job, and what else `run` does."""

    part: str | None = option(
        None, "align the I-th of every N blocks of reads; `readwarp merge` joins the parts", metavar="I/N"
    )
    no_mark_duplicates: bool = option(False, "do not mark duplicates, as for amplicons; implied by --primers")
    no_report: bool = option(False, "write no report.html, nor the texts it is made from")
    resume: bool = option(
        False, "continue from what an interrupted run has done; finished parts are kept beside the output"
    )


class Resources(NamedTuple):
    """Resources that a run may use. Budgets are in bytes; None: the free memory less a margin."""

    threads: int = 1
    device: str = "cpu"  # auto | cpu | cuda | cuda:0,1
    memory: int | None = None
    vram: int | None = None
    batch_bases: int | None = None


@options
class ResourceOptions:
    """Resources of a job; they do not change the output."""

    threads: int | None = option(None, "CPU threads [all available]", "-t", least=1)
    memory: Size | None = option(None, "memory budget, such as 8G [free less a margin]")
    device: str = option(
        "auto", "auto, cpu, cuda or cuda:0,1; cuda takes a free GPU, auto does so for large jobs only", metavar="D"
    )
    vram: Size | None = option(
        None, "memory budget of each GPU, such as 4G; CUDA takes another 0.5G [free memory less a margin]"
    )
    batch_bases: int | None = option(
        None, "maximum read bases per batch [by the memory budget]", least=1, most=MAX_BATCH
    )


@options
class CallingOptions:
    """Places to call, everywhere by default, and files beside the calls."""

    region: Region | Sequence[Region] | None = option(
        None,
        "CONTIG or CONTIG:FROM-TO; also CONTIG:FROM; several by commas or repeated [everywhere]",
        "-r",
        metavar="R",
    )
    targets: AnyPath | Sequence[AnyPath] | None = option(
        None, "call in these intervals only; BED, interval list, list of regions or a region; may be repeated", "-L"
    )
    interval_padding: int = option(0, "extend regions and targets by N bases on either side", least=0)
    exclude_regions: AnyPath | Sequence[AnyPath] | None = option(
        None, "skip these intervals (formats as -L); may be repeated"
    )
    gvcf: bool = option(False, "write a gVCF; one sample, with blocks of confident reference")
    alleles: AnyPath | None = option(None, "always genotype these alleles", metavar="VCF")
    bam_output: AnyPath | None = option(
        None, "write the reads of active regions, realigned to the called haplotypes (with .bai)", metavar="BAM"
    )
    haplotag: AnyPath | None = option(
        None, "write all alignments tagged with HP and PS; long reads only; with .bai", metavar="BAM"
    )
    primers: AnyPath | None = option(
        None, "mask amplicon primers; contig, start, end, name, pool, strand", metavar="BED"
    )
    ploidy_bed: AnyPath | None = option(
        None, "ploidy of intervals: contig, start, end, ploidy and, for one sample only, its name", metavar="BED"
    )
    circular: str | Sequence[str] = option(
        (), "circular contig, called across its origin; may be repeated", metavar="CONTIG"
    )
    sample: str | Sequence[str] = option((), "sample to call; may be repeated [all samples]")
    sv: AnyPath | None = option(None, "also call structural variants, into this .vcf, .vcf.gz or .bcf; long reads only")
    sv_only: bool = option(False, "call structural variants only, to the output (-o)")


@options
class FractionOptions:
    """Alleles at any fraction of the molecules, instead of on whole copies."""

    mixture: bool = option(False, "call alleles at any fraction (viruses, mitochondria, pools); also cell-free DNA")
    somatic: bool = option(False, "call mutations of a tumour")
    population: AnyPath | None = option(
        None, "population allele frequencies (INFO AF), such as gnomAD: VCF.gz or BCF with its index", metavar="VCF"
    )
    panel_of_normals: AnyPath | None = option(None, "panel of normals: VCF.gz or BCF with its index", metavar="VCF")
    consensus: AnyPath | None = option(None, "write the consensus genome (with --mixture)", metavar="FASTA")
    normal: str | Sequence[str] = option((), "matched normal sample, for --somatic; may be repeated")
    min_samples: int = option(2, "keep alleles found in at least N normals", kind="count", least=1)


@options
class TagOptions:
    """Tags and names of consensus reads."""

    output_per_base_tags: bool = option(True, "write per-base tags [yes]")
    read_group_id: str = option("A", "ID of the output's read group", metavar="ID")  # named as in fgbio
    read_name_prefix: str | None = option(None, "prefix of read names, NAME:MI [libraries and read groups, LB.ID]")


@options
class SampleOptions:
    """Samples of a report."""

    bam: AnyPath | Sequence[AnyPath] = option((), "sorted, indexed BAM or CRAM; repeat for each sample")
    vcf: AnyPath | Sequence[AnyPath] = option((), "VCF, VCF.gz or BCF, in the same order")
    metrics: AnyPath | Sequence[AnyPath] = option((), "metrics.json, in the same order")
    reference: AnyPath | None = option(
        None, "FASTA, for mismatches by cycle and CRAM [from metrics.json]", metavar="REF"
    )
    targets: AnyPath | Sequence[AnyPath] | None = option(
        None,
        "depth in these intervals: BED, interval list, list of regions or a region; may be repeated "
        "[from metrics.json]",
        "-L",
    )
    title: str | None = option(None, "heading of the page [the sample's name]", metavar="TEXT")
    statistics: AnyPath | None = option(None, "folder for the statistics [beside BAM and VCF]", metavar="DIR")


@options
class PairOptions:
    mode: str = option(
        "local",
        "local, global, or semiglobal: all of the query in part of the target",
        choices=("local", "global", "semiglobal"),
        metavar="MODE",
    )
    format: str = option("tsv", "format of the output", choices=("tsv", "sam"))
    traceback: bool = option(True, "write CIGARs and starts, not only scores [yes]")
