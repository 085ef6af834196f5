"""Each command with all of its options, in bundles, on `helpers.windowed_samples`."""

from typing import NamedTuple


class Case(NamedTuple):
    arguments: str  # with {o} for the folder of its outputs
    is_cut: bool = False  # its parts by -r, joined, are the whole

    @property
    def command(self) -> str:
        return self.arguments.split()[0]

    def words(self, out: object) -> list[str]:
        """The arguments, with the outputs in a folder, and metrics where the command counts."""
        metrics = ["--metrics", f"{out}/metrics.json"] * (self.command not in ("pairwise", "report"))
        return [*self.arguments.format(o=out).split(), *metrics]


FILTERS = (
    "--min-qual 20 --max-strand-bias 20 --max-indel-strand-bias 50 --min-end-distance 8 --min-allele-fraction 0.5"
    " --min-haploid-fraction 0.6 --max-fraction-misfit 2 --min-alt-mapping-quality 40 --min-expected-fraction 0.7"
)
PRIORS = "--heterozygosity 0.01 --indel-heterozygosity 0.002"
TRIM = (
    "--trim --adapter AGATCGGAAGAGC --adapter2 CTGTCTCTTATA --trim-poly-g always --trim-quality 25 --trim-min-length 60"
)
SCORES = "-A 2 -B 7 -O 11 -E 3 --clip 9"
UMI = "umi_1.fq umi_2.fq --umi 8M10S+T,+T"
KNOWN = "--population population.vcf.gz --panel-of-normals panel.vcf.gz"
CASES = {
    "sam": Case("align ref.fa a_1.fq a_2.fq -o {o}/o.sam --eqx --cs long -I 280,25 --min-score 40 -Y"),
    "duplicates": Case(
        f"align ref.fa a_1.fq a_2.fq -o {{o}}/o.bam --mark-duplicates --write-index {TRIM} --trim-bases drop"
    ),
    "alternates": Case(
        "align ref.fa a_1.fq a_2.fq -o {o}/o.cram --sort coordinate --alt ref.alt --correct-overlap --trim"
    ),
    "names": Case(f"align ref.fa a_1.fq a_2.fq -o {{o}}/o.bam --sort name -a --no-alt {SCORES}"),
    "paf": Case("align ref.fa a_1.fq a_2.fq -o {o}/o.paf --paf --secondary 3 -5 -S -P"),
    "mixed": Case(
        "align ref.fa mixed64.fq -p -C --phred64 -o {o}/o.bam -M --sample s --library l --index {o}/i.rwx"
        " --preset short"
    ),
    "two groups": Case(
        r"align ref.fa a_1.fq b_1.fq --single --phred33 -o {o}/o.bam -R @RG\tID:1\tSM:s -R @RG\tID:2\tSM:t"
        " --preset auto"
    ),
    "ont": Case("align ref.fa ont.fq --preset ont -o {o}/o.bam --sort coordinate --secondary 2 --cs short"),
    "hifi": Case("align ref.fa hifi.fq --preset hifi -o {o}/o.sam -Y --eqx"),
    "molecules": Case(f"align ref.fa {UMI} -o {{o}}/o.bam --mark-duplicates"),
    "duplex": Case("align ref.fa duplex_1.fq duplex_2.fq --umi name --umi-duplex -o {o}/o.bam --mark-duplicates"),
    "part": Case("align ref.fa a_1.fq a_2.fq -o {o}/o.bam --part 2/3 --resume"),
    "realigned": Case("align ref.fa a.bam -o {o}/o.bam --sort coordinate"),
    "another build": Case("align ref.fa a.cram --input-reference circle.fa -o {o}/o.bam"),
    "calls": Case("call circle.fa a.bam -o {o}/o.vcf.gz", True),
    "gvcf": Case(  # -r cuts blocks: tests/call/test_gvcf_runs.py
        f"call circle.fa a.bam -o {{o}}/o.g.vcf.gz --gvcf --ploidy-bed ploidy.bed --max-depth 12 {PRIORS}"
    ),
    "samples": Case(
        f"call circle.fa a.bam b.bam -o {{o}}/o.bcf --min-alternate-count 3 --min-alternate-fraction 0.1 {FILTERS}"
        " --min-indel-fraction 0.2 --min-alternate-quality 50 --max-mnp-distance 3",
        True,
    ),
    "forced": Case("call circle.fa a.bam -o {o}/o.vcf --alleles alleles.vcf.gz --ignore-soft-clips --ploidy 3", True),
    "places": Case(
        "call circle.fa a.bam -o {o}/o.vcf -r one,two -r ring:100-900 -L targets.bed --interval-padding 30"
        " --exclude-regions excluded.bed --primers primers.bed --bam-output {o}/shown.bam --min-base-quality 25"
        " --min-mapping-quality 30 --phred33"
    ),
    "phred64": Case("call circle.fa b64.bam -o {o}/o.vcf --phred64 -r one,two"),
    "circle": Case("call circle.fa a.cram --sample a -o {o}/o.vcf --circular ring --platform short --ploidy 2"),
    "ont calls": Case(
        "call circle.fa ont.bam -o {o}/o.vcf --platform ont --haplotag {o}/tagged.bam --sv {o}/sv.vcf"
        " --min-sv-length 40 --max-sv-length 5000 --min-sv-support 3"
    ),
    "hifi calls": Case(
        "call circle.fa hifi.bam -o {o}/o.g.vcf --platform hifi --gvcf -r one --bam-output {o}/shown.bam"
    ),
    "long targets": Case("call circle.fa hifi.bam -o {o}/o.vcf -L targets.bed"),
    "structural": Case("call circle.fa ont.bam hifi.bam --sv-only -o {o}/o.vcf.gz --platform ont", True),
    "somatic": Case(f"call circle.fa tumour.bam --somatic {KNOWN} -o {{o}}/o.vcf"),
    "normal": Case(
        f"call circle.fa tumour.bam normal.bam --somatic --normal normal {KNOWN} -o {{o}}/o.vcf --contamination 0.02"
        " --mutation-prior 1e-5 --min-probability 0.8 --min-fraction 0.03 --max-events 4 --alleles alleles.vcf.gz"
    ),
    "mixture": Case(
        "call circle.fa tumour.bam --mixture -o {o}/o.vcf.gz --consensus {o}/o.fa --consensus-min-depth 8"
        " --consensus-share 0.8 --circular ring --primers primers.bed"
    ),
    "mixtures": Case("call circle.fa tumour.bam normal.bam --mixture -o {o}/o.bcf -L targets.bed"),
    "run": Case(
        f"run circle.fa a_1.fq a_2.fq -o {{o}}/run {TRIM} --gvcf --no-mark-duplicates --no-report"
        " --bam-output {o}/s.bam"
    ),
    "long run": Case("run circle.fa ont.fq --preset ont -o {o}/run --no-report --haplotag {o}/t.bam --sv {o}/sv.vcf"),
    "somatic run": Case(f"run circle.fa tumour_1.fq tumour_2.fq --somatic {KNOWN} -o {{o}}/run --no-report"),
    "mixture run": Case(f"run circle.fa {UMI} --mixture --consensus {{o}}/o.fa -o {{o}}/run --no-report"),
    "index": Case("index circle.fa -o {o}/i.rwx -k 19 -s 9"),
    "long index": Case("index circle.fa -o {o}/i.rwx --preset hifi"),
    "genotype": Case(
        f"genotype circle.fa a.g.vcf.gz b.g.vcf.gz hifi.g.vcf.gz -o {{o}}/o.vcf.gz {PRIORS} --ploidy 2", True
    ),
    "genotype places": Case(
        f"genotype circle.fa a.g.vcf.gz b.g.vcf.gz -o {{o}}/o.bcf -r one -L targets.bed --interval-padding 20 {FILTERS}"
        " --exclude-regions excluded.bed --max-alleles 3 --max-mnp-distance 2"
    ),
    "panel": Case("panel tumour.vcf.gz normal.vcf.gz -o {o}/o.vcf.gz --min-samples 1"),
    "merge": Case("merge part1.bam part2.bam -o {o}/o.bam --umi tag --mark-duplicates --write-index"),
    "merge names": Case("merge part1.bam part2.bam -o {o}/o.cram --reference circle.fa --sort name"),
    "merge duplex": Case("merge twin1.bam twin2.bam -o {o}/o.bam --umi tag --umi-duplex --mark-duplicates"),
    "consensus": Case(
        "consensus umi.bam -o {o}/o.bam --min-reads 2 --min-input-base-quality 15 --error-rate-pre-umi 40"
        " --error-rate-post-umi 35 --min-consensus-base-quality 10 --max-read-error-rate 0.1 --max-base-error-rate 0.2"
        " --max-no-calls 0.3 --read-group-id g --read-name-prefix p --reference circle.fa"
        " --no-consensus-call-overlapping-bases"
    ),
    "consensus duplex": Case(
        "consensus duplex.bam -o {o}/o.bam --duplex --max-reads-per-strand 4 --no-output-per-base-tags"
        " --require-single-strand-agreement"
    ),
    "pairs": Case("pairwise few.fa windows.fa -o {o}/o.sam --format sam --mode semiglobal"),
    "scores": Case("pairwise few.fa few.fa -o {o}/o.tsv --no-traceback -A 2 -B 5 -O 7 -E 1"),
    "report": Case(
        "report --bam a.bam --vcf tumour.vcf.gz --reference circle.fa -L targets.bed --title T -o {o}/o.html"
        " --statistics {o}"
    ),
}
