"""The options of each command, in the order of its help.

Type checkers read `commands.pyi` instead, where these classes are the TypedDicts of the keywords in Python; it is made
from here by `python tests/cli/test_reference.py`.
"""

from readwarp.config import call, options
from readwarp.config.align import CALLED_PRESETS, PairParameters, RecordParameters, Scoring, TrimParameters
from readwarp.config.declare import Command, part, without_letters
from readwarp.config.molecules import ConsensusParameters

RESOURCES = "resources (they never change the output)"
HOST = (RESOURCES, part(options.ResourceOptions, "threads:memory"))
PG = {"no_pg": "write no @PG line of this command"}
TRIMMING = ("trimming (nothing is trimmed without --trim)", options.TrimOptions, TrimParameters)
VARIANTS = ".vcf, .vcf.gz or .bcf; with .tbi or .csi [VCF to stdout]"
UMI = {"help": "tag: duplicates must share the UMI that `align --umi` wrote to RX", "metavar": "tag"}
CRAM = "FASTA or index (.rwx), for CRAM output and input [input: found by M5: UR, REF_CACHE, REF_PATH]"
LISTED = {"help": "file that lists alignments, one per line", "names": ("-b", "--list")}
FOLDER = {"help": "folder for the results", "metavar": "DIR", "is_required": True}
CALLED = {"help": options.preset_help(CALLED_PRESETS), "choices": CALLED_PRESETS}
PLACES = {
    "region": "CONTIG or CONTIG:FROM-TO; also CONTIG:FROM; several by commas or repeated; inputs need an index "
    "[everywhere]",
    "targets": "genotype in these intervals only; BED, interval list, list of regions or a region; may be "
    "repeated; inputs need an index",
}
READS = "unaligned reads, interleaved: .bam, .sam, .fq.gz or .fq; - is SAM on stdout"
CALLING = (
    "calling",
    part(options.CallingOptions, ":exclude_regions"),
    part(call.CallParameters, "platform"),
    part(options.CallingOptions, "gvcf:haplotag"),
    part(call.CallParameters, "ploidy:max_mnp_distance"),
    part(options.CallingOptions, "primers"),
    part(call.CallParameters, "ignore_soft_clips:indel_heterozygosity"),
    part(options.CallingOptions, "ploidy_bed:circular"),
)
FILTERS = ("filters (calls that fail are written, with the filter's name)", part(call.CallParameters, "min_quality:"))
FRACTIONS = (
    "alleles at any fraction (instead of diploid or other genotypes)",
    part(options.FractionOptions, ":panel_of_normals"),
    call.FractionParameters,
    part(options.FractionOptions, "consensus"),
    call.GenomeParameters,
)
STRUCTURAL = (
    "structural variants (insertions and deletions in long reads)",
    part(options.CallingOptions, "sv"),
    call.StructuralParameters,
)


class IndexOptions(Command):
    groups = (
        ("", part(options.FileOptions, "output:", output="the index [REF.rwx]")),
        HOST,
        ("seeds", part(options.AlignmentOptions, "preset"), options.SeedOptions),
    )


class MergeOptions(Command):
    groups = (
        ("", part(options.FileOptions, "output:", output=".bam, .cram or .sam; - is SAM on stdout")),
        (
            "output",
            part(options.RecordOptions, ":write_index"),
            part(options.ReadOptions, "umi:", umi=UMI),
            part(options.RecordOptions, "reference:no_pg", reference=CRAM, **PG),
        ),
        (RESOURCES, part(options.ResourceOptions, "threads:memory", memory="memory for sorting [1G]")),
    )


class AlignOptions(Command):
    groups = (
        ("", part(options.FileOptions, "output:", output=".sam, .bam, .cram or .paf [SAM to stdout]")),
        ("reads", options.ReadOptions),
        ("output", part(options.RecordOptions, ":write_index"), part(options.RecordOptions, "no_pg:")),
        ("alignment", options.AlignmentOptions, RecordParameters, PairParameters),
        ("scores (as in bwa mem)", Scoring),
        TRIMMING,
        ("clusters", part(options.StepOptions, "part"), part(options.StepOptions, "resume")),
        (RESOURCES, options.ResourceOptions),
    )


class AlignerOptions(Command):
    """The options of `readwarp.Aligner`."""

    groups = (("", part(options.AlignmentOptions, "alt:"), RecordParameters, PairParameters, Scoring), TRIMMING)


class CallOptions(Command):
    groups = (
        (
            "",
            part(options.FileOptions, file_list=LISTED, output=VARIANTS),
            part(options.CallingOptions, "sample"),
            part(options.ReadOptions, "phred64:phred33"),
        ),
        CALLING,
        FILTERS,
        (*FRACTIONS, part(options.FractionOptions, "normal")),
        (*STRUCTURAL, part(options.CallingOptions, "sv_only")),
        (RESOURCES, options.ResourceOptions),
    )


class CallerOptions(Command):
    """The options of `readwarp.Caller`."""

    groups = (("", call.CallParameters, *FRACTIONS[1:3], part(options.FractionOptions, "normal")),)


class RunOptions(Command):
    groups = (
        (
            "",
            part(options.FileOptions, "output:", output=FOLDER, force="overwrite existing results"),
            part(options.RecordOptions, "no_pg"),
            part(options.RecordOptions, "bgzf"),
            part(options.StepOptions, "no_mark_duplicates:"),
        ),
        ("reads", options.ReadOptions),
        ("alignment", part(options.AlignmentOptions, preset=CALLED), RecordParameters, PairParameters),
        ("scores (as in bwa mem)", without_letters(Scoring)),
        TRIMMING,
        CALLING,
        FILTERS,
        FRACTIONS,
        STRUCTURAL,
        (RESOURCES, options.ResourceOptions),
    )


class GenotypeOptions(Command):
    groups = (
        ("", part(options.FileOptions, file_list="file that lists more gVCFs, one per line", output=VARIANTS)),
        (
            "genotyping",
            part(options.CallingOptions, ":exclude_regions", **PLACES),
            call.JointParameters,
            part(call.CallParameters, "heterozygosity:indel_heterozygosity"),
            part(call.CallParameters, "max_mnp_distance"),
        ),
        FILTERS,
        HOST,
    )


class PanelOptions(Command):
    groups = (
        (
            "",
            part(options.FileOptions, file_list="file that lists more VCFs, one per line", output=VARIANTS),
            part(options.FractionOptions, "min_samples"),
        ),
        ("resources (none of them changes the output)", part(options.ResourceOptions, "threads")),
    )


class ConsensusOptions(Command):
    groups = (
        ("", part(options.FileOptions, "output:", output=READS)),
        ("molecules", part(ConsensusParameters, ":consensus_call_overlapping_bases")),
        ("filters", part(ConsensusParameters, "min_consensus_base_quality:")),
        ("output", options.TagOptions, part(options.RecordOptions, "reference:no_pg", **PG)),
        HOST,
    )


class ReportOptions(Command):
    groups = (
        ("", part(options.FileOptions, "output:", output="the page [report.html in DIR, or here for several folders]")),
        ("samples", options.SampleOptions, part(options.ResourceOptions, "threads")),
    )


class PairwiseOptions(Command):
    groups = (
        (
            "",
            part(options.PairOptions, "mode"),
            part(options.FileOptions, "output:", output="write to FILE [stdout]"),
            part(options.PairOptions, "format:"),
            part(options.ResourceOptions, "threads"),
            part(options.ResourceOptions, "device", device="auto, cpu, cuda or cuda:0,1"),
        ),
        ("scoring (a gap of n bases costs O + n * E)", part(Scoring, ":gap_extend")),
    )
