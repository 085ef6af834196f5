"""Names in readwarp for commands and options of other tools. docs/coming-from.md explains the same."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from readwarp.errors import UsageError


class Habit(NamedTuple):
    """Options of other tools, for some commands, and the advice on them."""

    commands: str
    names: str
    here: str


ONE_SAMPLE = "run takes one sample: run tumour and normal separately, then `readwarp call REF tumour.bam normal.bam"
OPTIONS = [
    Habit("align", "-L", "the penalty for clipping is --clip; -L is --targets in call, run, genotype and report"),
    Habit("align run", "-k", "seed length is set when the index is built: `readwarp index -k`"),
    Habit("align run", "-H", "give read groups by --read-group; other header lines are added by `samtools reheader`"),
    Habit("align run", "-T", "the lowest score to report is --min-score"),
    Habit("align run", "-K", "not needed: the output does not depend on the number of threads"),
    Habit("align run", "-y", "comments are kept by -C (--comments)"),
    Habit("align run", "-N", "the number of secondary alignments is --secondary"),
    Habit("align run", "--rg --rg-id", "the read group is -R '@RG\\tID:x\\tSM:y'"),
    Habit("align run", "--in-fq --in-se-fq", "reads are positional arguments, after the reference"),
    Habit("align run", "-w -d -c -D -W -m -U -g -G -z -s -n", "readwarp has no equivalent option: leave it out"),
    Habit("align", "-r", "readwarp has no equivalent option; regions are -r (--region) of call"),
    Habit("align run", "--MD", "MD is always written"),
    Habit("align run", "--sam-hit-only", "`samtools view -F 4` leaves unmapped reads out"),
    Habit("align run", "--end-bonus", "the penalty for clipping is --clip"),
    Habit("align run", "--split-prefix --idx-no-seq", "not needed: an index is never split"),
    Habit("align run", "--tmp-dir", "temporary files go to $TMPDIR"),
    Habit("align run", "-u --junc-bed --splice", "readwarp is for DNA: align RNA with minimap2, STAR or HISAT2"),
    Habit("index", "-d -p", "the index is named by -o (--output)"),
    Habit("index", "-a -b -H -w", "not needed: leave it out"),
    Habit("align", "-b", "the output's extension sets the format: -o out.bam"),
    Habit(
        "align",
        "--remove-duplicates --dedup",
        "duplicates are flagged by --mark-duplicates; `samtools view -F DUP` drops them",
    ),
    Habit("align merge", "--create-index --CREATE_INDEX", "the index is written by --write-index"),
    Habit(
        "run",
        "--sort --mark-duplicates --markdup --write-index --create-index",
        "run sorts, marks duplicates and writes the index anyway",
    ),
    Habit("run", "-A -B -O -E", "scores have long names in run: --match, --mismatch, --gap-open, --gap-extend"),
    Habit(
        "align call run",
        "--min-mapq --minimum-mapping-quality --min-MQ",
        "in call and run, --min-mapping-quality ignores reads; align writes all of them",
    ),
    Habit("call run", "--min-baseq --min-BQ --min-base-quality-score", "the lowest base quality is --min-base-quality"),
    Habit("call run genotype", "-ip", "padding is --interval-padding"),
    Habit("call run genotype", "-XL --exclude-intervals", "intervals to leave out are --exclude-regions"),
    Habit(
        "call run genotype report",
        "--intervals --interval-file --bed --regions-file --targets-file",
        "intervals are -L (--targets)",
    ),
    Habit("call run", "-ERC --ERC --emit-ref-confidence", "a genomic VCF is written with --gvcf"),
    Habit("call run", "-bamout --bamout --bam-out", "--bam-output writes the realigned reads"),
    Habit(
        "call run",
        "-stand-call-conf --standard-min-confidence-threshold-for-calling",
        "the lowest QUAL that passes is --min-qual",
    ),
    Habit("call run", "--dont-use-soft-clipped-bases", "that is --ignore-soft-clips"),
    Habit("call run", "--pcr-indel-model", "not needed: errors of indels are modelled by the repeat"),
    Habit("call run", "--dbsnp -D", "names of known variants are added by `bcftools annotate -a dbsnp.vcf.gz -c ID`"),
    Habit("call", "-C", "--min-alternate-count sets how many reads make an allele worth testing"),
    Habit("call run", "-F", "--min-alternate-fraction sets what share of reads makes an allele worth testing"),
    Habit("call", "-p", "the number of copies is --ploidy"),
    Habit("call run", "-ploidy --sample-ploidy", "the ploidy is --ploidy"),
    Habit("call", "--min-depth --min-coverage", "--consensus-min-depth sets the reads that a consensus base needs"),
    Habit("call", "-sn --sample-name", "samples are chosen by --sample"),
    Habit("call run", "--max-reads-per-alignment-start --max-coverage", "the depth is limited by --max-depth"),
    Habit("call run genotype", "--create-output-variant-index -OVI", "not needed: .vcf.gz and .bcf get their index"),
    Habit("call genotype", "--tmp-dir --java-options", "not needed: leave it out"),
    Habit("call run genotype", "-A -G --annotation --annotation-group", "not needed: all annotations are written"),
    Habit("run", "--normal -normal", f"{ONE_SAMPLE} --somatic --normal NAME`"),
    Habit("call run", "--cnv-map", "that is --ploidy-bed, with the same file"),
    Habit("call", "-mv", "not needed: call finds and writes the variants in one step"),
    Habit("call genotype", "-O", "use -o; the extension sets the format (.vcf, .vcf.gz, .bcf)"),
    Habit(
        "call genotype",
        "-R --reference --ref --fasta-ref",
        "the reference comes first, without an option: `readwarp {command} ref.fa ...`",
    ),
    Habit(
        "align run",
        "--reference --ref --input-fmt-option",
        "the reference comes first, without an option: `readwarp {command} ref.fa ...`; that of CRAM input is "
        "--input-reference",
    ),
    Habit("call", "-I --input --in-bam --bam", "alignments are positional arguments, after the reference"),
    Habit("call", "--germline-resource", "frequencies in the population are given by --population"),
    Habit("call", "--normal-sample -normal", "the normal is --normal NAME, with --somatic"),
    Habit("call", "--mitochondria-mode", "that is --mixture, with --circular chrM for the origin"),
    Habit("call", "--pooled-continuous", "that is --mixture"),
    Habit("panel", "-V --variant --vcfs", "calls of normals are positional arguments"),
    Habit("genotype", "-V --variant", "gVCFs are positional arguments, after the reference"),
    Habit("call", "--out-variants --out", "the output is -o (--output)"),
    Habit("align", "--out-bam --out", "the output is -o (--output)"),
    Habit(
        "align merge call genotype panel run report pairwise index",
        "-@ -j --native-pair-hmm-threads --nct",
        "threads are -t (--threads)",
    ),
    Habit("align run", "-j", "ALT contigs are treated as all others by --no-alt; threads are -t (--threads)"),
    Habit("align call run", "--num-gpus --gpus", "GPUs are --device, such as cuda:0,1"),
    Habit("align call run", "--low-memory", "GPU memory is limited by --vram, such as 16G"),
]
COMMANDS = {  # commands of other tools: the command here, or what to do
    **dict.fromkeys(("mem", "aln", "map", "bwa-mem", "bwa", "minimap2", "fq2bam"), "align"),
    **dict.fromkeys(("germline", "pipeline", "wgs"), "run"),
    **dict.fromkeys(("mpileup", "haplotypecaller", "variants"), "call"),
    **dict.fromkeys(("joint", "genotypegvcfs", "combinegvcfs", "genomicsdbimport"), "genotype"),
    **dict.fromkeys(("createsomaticpanelofnormals", "pon"), "panel"),
    **dict.fromkeys(("cat", "gather", "join"), "merge"),
    **dict.fromkeys(("sw", "ssw"), "pairwise"),
    **dict.fromkeys(("info", "check", "devices"), "doctor"),
}
STEPS = {  # steps of other tools that are options of a command here, or not needed
    **dict.fromkeys(
        ("sort", "sortsam"),
        "`readwarp align --sort coordinate` and `run` sort as they align; `samtools sort` sorts other files",
    ),
    **dict.fromkeys(
        ("markdup", "markduplicates", "fixmate", "dedup", "bamsormadup"),
        "`readwarp align --mark-duplicates` and `run` mark as they align; `samtools markdup` marks in other files",
    ),
    **dict.fromkeys(("trim", "fastp", "cutadapt"), "`--trim` of align and run does it as they align"),
    **dict.fromkeys(
        ("view", "flagstat", "stats", "depth", "idxstats", "tview", "faidx"), "use `samtools`: the files are standard"
    ),
    **dict.fromkeys(("filter", "norm", "query", "concat"), "use `bcftools`: the files are standard"),
    **dict.fromkeys(("baserecalibrator", "applybqsr", "bqsr"), "not needed"),
    **dict.fromkeys(("variantrecalibrator", "applyvqsr", "variantfiltration"), "`call` applies its filters itself"),
    **dict.fromkeys(("mutect2", "mutect", "somatic", "lofreq"), "`readwarp call --somatic` or `--mixture` does it"),
    **dict.fromkeys(
        ("getpileupsummaries", "calculatecontamination", "filtermutectcalls"), "`call --somatic` does it itself"
    ),
}


BWA = {"ont2d", "pacbio", "intractg"}  # its presets among those of other tools; the rest is minimap2's
CLUSTER = re.compile(r"-([acY]*[ac][acY]*)x(.*)")  # such as -ax, -axmap-ont and -cYx
FLAGS = {"a": [], "c": ["--paf"], "Y": ["-Y"]}  # minimap2's flags: those here


def translate(arguments: Sequence[str]) -> list[str]:
    """Translate minimap2's `-ax map-ont` to --preset map-ont, and `-cx` also to --paf.

    In minimap2, -a asks for SAM, which is written anyway; in bwa and here it asks for all hits. So it is rejected
    beside a preset of minimap2. Raises UsageError.
    """
    from readwarp.config import NAMES_ELSEWHERE  # would slow `readwarp --help`

    out, minimap2 = list[str](), NAMES_ELSEWHERE.keys() - BWA
    for text, after in zip(arguments, (*arguments[1:], ""), strict=False):
        name = text.removeprefix("--preset=").removeprefix("-x") if text not in ("-x", "--preset") else after
        cluster = CLUSTER.fullmatch(text)
        if cluster and (cluster[2] or after) in minimap2:
            out += [word for flag in cluster[1] for word in FLAGS[flag]]
            out += ["--preset", *filter(None, [cluster[2]])]
        elif name in minimap2 and name != text and "-a" in arguments:
            raise UsageError("-a writes all hits; for SAM, as in minimap2, leave it out (all hits: --all-hits)")
        else:
            out.append(text)
    return out


def habits_of(command: str) -> dict[str, str]:
    """Return the advice on each option."""
    rows = (habit for habit in OPTIONS if command in habit.commands.split())
    return {name: habit.here.format(command=command) for habit in rows for name in habit.names.split()}
