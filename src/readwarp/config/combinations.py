"""Options that require or exclude others: one table for command line and Python, checked before anything is read."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from readwarp.errors import UsageError

NEEDS, EXCLUDES = "needs", "excludes"


class Rule(NamedTuple):
    """A condition on each of the `options`, by Python names; `sort=name|none` is sort with one of these values."""

    options: str
    kind: str
    others: str  # one of them is required, or none may be given
    reason: str = ""
    commands: str = ""  # commands it applies to; empty: all that have the options


OF_GENOTYPES = (
    "ploidy ploidy_bed gvcf heterozygosity indel_heterozygosity min_quality min_end_distance "
    "min_allele_fraction min_haploid_fraction max_fraction_misfit min_alt_mapping_quality min_expected_fraction"
)
OF_SMALL_VARIANTS = (
    "gvcf alleles bam_output haplotag mixture somatic primers circular ignore_soft_clips max_mnp_distance max_depth "
    "min_base_quality min_alternate_count min_alternate_fraction min_indel_fraction min_alternate_quality "
    "heterozygosity indel_heterozygosity max_strand_bias max_indel_strand_bias min_end_distance min_allele_fraction "
    "min_haploid_fraction max_fraction_misfit min_alt_mapping_quality min_expected_fraction"
)
RULES = (
    Rule("phred33", EXCLUDES, "phred64"),
    Rule("interleaved", EXCLUDES, "single"),
    Rule("umi_duplex", NEEDS, "umi"),
    Rule("umi_duplex", NEEDS, "mark_duplicates part", "it says which pairs are copies of one molecule", "align merge"),
    Rule("umi", NEEDS, "mark_duplicates", "it says which pairs are copies of one molecule", "merge"),
    Rule("umi_duplex", EXCLUDES, "no_mark_duplicates", "molecules are told by marking duplicates"),
    Rule("umi", EXCLUDES, "preset=hifi|ont", "duplicates of long reads are not marked", "run"),
    Rule("alt", EXCLUDES, "no_alt"),
    Rule("all_hits", EXCLUDES, "secondary"),
    Rule("mark_duplicates write_index", EXCLUDES, "sort=name|none", "it needs --sort coordinate"),
    Rule(
        "part",
        EXCLUDES,
        "sort=coordinate|name mark_duplicates write_index paf",
        "parts are unsorted BAM files; `readwarp merge` sorts them and marks duplicates",
    ),
    Rule("adapter adapter2 trim_poly_g trim_quality trim_min_length trim_bases correct_overlap", NEEDS, "trim"),
    Rule("adapter2", NEEDS, "adapter"),
    Rule("interval_padding", NEEDS, "region targets"),
    Rule("mixture", EXCLUDES, "somatic normal"),
    Rule("normal population panel_of_normals max_events", NEEDS, "somatic"),
    Rule("contamination", NEEDS, "population", "frequencies tell what other people have"),
    Rule("mutation_prior min_probability min_fraction", NEEDS, "somatic mixture"),
    Rule("mixture somatic", EXCLUDES, OF_GENOTYPES, "alleles have fractions, not genotypes"),
    Rule("mixture somatic", EXCLUDES, "sv sv_only haplotag bam_output"),
    Rule("consensus", NEEDS, "mixture"),
    Rule("consensus_min_depth consensus_share", NEEDS, "consensus"),
    Rule("gvcf", EXCLUDES, "max_mnp_distance", "give it to `readwarp genotype`"),
    Rule("gvcf", EXCLUDES, "alleles", "a block of reference says nothing of given alleles"),
    Rule("min_sv_length max_sv_length min_sv_support", NEEDS, "sv sv_only"),
    Rule("circular", EXCLUDES, "bam_output haplotag sv sv_only"),
    Rule("circular", EXCLUDES, "ignore_soft_clips", "reads across the origin are clipped where the contig ends"),
    Rule("sv_only", EXCLUDES, f"sv {OF_SMALL_VARIANTS}", "it calls structural variants alone, to -o"),
    Rule("require_single_strand_agreement", NEEDS, "duplex"),
)
LONG, SHORT = ("haplotag", "sv", "sv_only"), ("mixture", "somatic", "circular")  # options for one type of reads


def check_together(command: str, options: Mapping[str, Any]) -> None:
    """Raise UsageError for options that the table forbids together."""
    for rule in RULES:
        if rule.commands and command not in rule.commands.split():
            continue
        reason = f": {rule.reason}" if rule.reason else ""
        others = rule.others.split()
        for name in find_given(rule.options.split(), options):
            found = next(find_given(others, options), None)
            if rule.kind == NEEDS and found is None:
                raise UsageError(f"{spell(name)} needs {' or '.join(map(spell, others))}{reason}")
            if rule.kind == EXCLUDES and found is not None:
                raise UsageError(f"{spell(name)} and {spell(found, options)} cannot be combined{reason}")


def check_kind(command: str, is_long: bool, options: Mapping[str, Any]) -> None:
    """Raise UsageError for options that do not apply to reads of this type."""
    option = "--preset" if command == "run" else "--platform"
    kind, remedy = ("short", "--platform short") if is_long else ("long", f"{option} hifi or ont")
    for name in find_given(SHORT if is_long else LONG, options):
        raise UsageError(f"{spell(name)} supports {kind} reads only ({remedy}, if these are)")


def find_given(names: Iterable[str], options: Mapping[str, Any]) -> Iterator[str]:
    """Yield the options that are given and not 0; for `name=value|value`, if it has one of these values."""
    for each in names:
        name, _, values = each.partition("=")
        value = options.get(name)
        if value and (not values or value in values.split("|")):
            yield each


def spell(name: str, options: Mapping[str, Any] | None = None) -> str:
    """Spell an option, with its value if options are given: `--sort name`."""
    name, _, values = name.partition("=")
    option = f"--{name.replace('_', '-')}"
    return f"{option} {options[name]}" if values and options else option
