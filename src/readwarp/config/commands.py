"""The options of each command, in the order of its help.

Type checkers read `commands.pyi` instead, where these classes are the TypedDicts of the keywords in Python; it is made
from here by `python tests/cli/test_reference.py`.
"""

from readwarp.config.align import CALLED_PRESETS, PairParameters, RecordParameters, Scoring, TrimParameters
from readwarp.config.call import (
    CallParameters,
    FractionParameters,
    GenomeParameters,
    JointParameters,
    StructuralParameters,
)
from readwarp.config.declare import Command, part, without_letters
from readwarp.config.molecules import ConsensusParameters
from readwarp.config.options import (
    AlignmentOptions,
    CallingOptions,
    FileOptions,
    FractionOptions,
    PairOptions,
    ReadOptions,
    RecordOptions,
    ResourceOptions,
    SampleOptions,
    SeedOptions,
    StepOptions,
    TagOptions,
    TrimOptions,
    preset_help,
)

RESOURCES = "resources (they never change the output)"
HOST = (RESOURCES, part(ResourceOptions, "threads:memory"))
PG = {"no_pg": "write no @PG line of this command"}
TRIMMING = ("trimming (nothing is trimmed without --trim)", TrimOptions, TrimParameters)
VARIANTS = ".vcf, .vcf.gz or .bcf; with .tbi or .csi [VCF to stdout]"
UMI = {"help": "tag: duplicates must share the UMI that `align --umi` wrote to RX", "metavar": "tag"}
CRAM = "FASTA or index (.rwx), for CRAM output and input [input: found by M5: UR, REF_CACHE, REF_PATH]"
LISTED = {"help": "file that lists alignments, one per line", "names": ("-b", "--list")}
FOLDER = {"help": "folder for the results", "metavar": "DIR", "is_required": True}
CALLED = {"help": preset_help(CALLED_PRESETS), "choices": CALLED_PRESETS}
PLACES = {
    "region": "CONTIG or CONTIG:FROM-TO; also CONTIG:FROM; several by commas or repeated; inputs need an index "
    "[everywhere]",
    "targets": "genotype in these intervals only; BED, interval list, list of regions or a region; may be "
    "repeated; inputs need an index",
}
READS = "unaligned reads, interleaved: .bam, .sam, .fq.gz or .fq; - is SAM on stdout"
CALLING = (
    "calling",
    part(CallingOptions, ":exclude_regions"),
    part(CallParameters, "platform"),
    part(CallingOptions, "gvcf:haplotag"),
    part(CallParameters, "ploidy:max_mnp_distance"),
    part(CallingOptions, "primers"),
    part(CallParameters, "ignore_soft_clips:indel_heterozygosity"),
    part(CallingOptions, "ploidy_bed:circular"),
)
FILTERS = ("filters (calls that fail are written, with the filter's name)", part(CallParameters, "min_quality:"))
FRACTIONS = (
    "alleles at any fraction (instead of diploid or other genotypes)",
    part(FractionOptions, ":panel_of_normals"),
    FractionParameters,
    part(FractionOptions, "consensus"),
    GenomeParameters,
)
STRUCTURAL = (
    "structural variants (insertions and deletions in long reads)",
    part(CallingOptions, "sv"),
    StructuralParameters,
)


class IndexOptions(Command):
    groups = (
        ("", part(FileOptions, "output:", output="the index [REF.rwx]")),
        HOST,
        ("seeds", part(AlignmentOptions, "preset"), SeedOptions),
    )


class MergeOptions(Command):
    groups = (
        ("", part(FileOptions, "output:", output=".bam, .cram or .sam; - is SAM on stdout")),
        (
            "output",
            part(RecordOptions, ":write_index"),
            part(ReadOptions, "umi:", umi=UMI),
            part(RecordOptions, "reference:no_pg", reference=CRAM, **PG),
        ),
        (RESOURCES, part(ResourceOptions, "threads:memory", memory="memory for sorting [1G]")),
    )


class AlignOptions(Command):
    groups = (
        ("", part(FileOptions, "output:", output=".sam, .bam, .cram or .paf [SAM to stdout]")),
        ("reads", ReadOptions),
        ("output", part(RecordOptions, ":write_index"), part(RecordOptions, "no_pg:")),
        ("alignment", AlignmentOptions, RecordParameters, PairParameters),
        ("scores (as in bwa mem)", Scoring),
        TRIMMING,
        ("clusters", part(StepOptions, "part"), part(StepOptions, "resume")),
        (RESOURCES, ResourceOptions),
    )


class AlignerOptions(Command):
    """The options of `readwarp.Aligner`."""

    groups = (("", part(AlignmentOptions, "alt:"), RecordParameters, PairParameters, Scoring), TRIMMING)


class CallOptions(Command):
    groups = (
        (
            "",
            part(FileOptions, file_list=LISTED, output=VARIANTS),
            part(CallingOptions, "sample"),
            part(ReadOptions, "phred64:phred33"),
        ),
        CALLING,
        FILTERS,
        (*FRACTIONS, part(FractionOptions, "normal")),
        (*STRUCTURAL, part(CallingOptions, "sv_only")),
        (RESOURCES, ResourceOptions),
    )


class CallerOptions(Command):
    """The options of `readwarp.Caller`."""

    groups = (("", CallParameters, *FRACTIONS[1:3], part(FractionOptions, "normal")),)


class RunOptions(Command):
    groups = (
        (
            "",
            part(FileOptions, "output:", output=FOLDER, force="overwrite existing results"),
            part(RecordOptions, "no_pg"),
            part(RecordOptions, "bgzf"),
            part(StepOptions, "no_mark_duplicates:"),
        ),
        ("reads", ReadOptions),
        ("alignment", part(AlignmentOptions, preset=CALLED), RecordParameters, PairParameters),
        ("scores (as in bwa mem)", without_letters(Scoring)),
        TRIMMING,
        CALLING,
        FILTERS,
        FRACTIONS,
        STRUCTURAL,
        (RESOURCES, ResourceOptions),
    )


class GenotypeOptions(Command):
    groups = (
        ("", part(FileOptions, file_list="file that lists more gVCFs, one per line", output=VARIANTS)),
        (
            "genotyping",
            part(CallingOptions, ":exclude_regions", **PLACES),
            JointParameters,
            part(CallParameters, "heterozygosity:indel_heterozygosity"),
            part(CallParameters, "max_mnp_distance"),
        ),
        FILTERS,
        HOST,
    )


class PanelOptions(Command):
    groups = (
        (
            "",
            part(FileOptions, file_list="file that lists more VCFs, one per line", output=VARIANTS),
            part(FractionOptions, "min_samples"),
        ),
        ("resources (none of them changes the output)", part(ResourceOptions, "threads")),
    )


class ConsensusOptions(Command):
    groups = (
        ("", part(FileOptions, "output:", output=READS)),
        ("molecules", part(ConsensusParameters, ":consensus_call_overlapping_bases")),
        ("filters", part(ConsensusParameters, "min_consensus_base_quality:")),
        ("output", TagOptions, part(RecordOptions, "reference:no_pg", **PG)),
        HOST,
    )


class ReportOptions(Command):
    groups = (
        ("", part(FileOptions, "output:", output="the page [report.html in DIR, or here for several folders]")),
        ("samples", SampleOptions, part(ResourceOptions, "threads")),
    )


class PairwiseOptions(Command):
    groups = (
        (
            "",
            part(PairOptions, "mode"),
            part(FileOptions, "output:", output="write to FILE [stdout]"),
            part(PairOptions, "format:"),
            part(ResourceOptions, "threads"),
            part(ResourceOptions, "device", device="auto, cpu, cuda or cuda:0,1"),
        ),
        ("scoring (a gap of n bases costs O + n * E)", part(Scoring, ":gap_extend")),
    )
