"""The options of each command as keywords in Python, made by `python tests/cli/test_reference.py`."""

from collections.abc import Sequence
from os import PathLike
from typing import TypedDict

AnyPath = str | PathLike[str]

class IndexOptions(TypedDict, total=False):
    force: bool
    threads: int | None
    memory: int | str | None
    preset: str | None
    k: int | None
    s: int | None

class MergeOptions(TypedDict, total=False):
    force: bool
    sort: str | None
    mark_duplicates: bool
    write_index: bool
    umi: str | None
    umi_duplex: bool
    reference: AnyPath | None
    no_pg: bool
    threads: int | None
    memory: int | str | None

class AlignOptions(TypedDict, total=False):
    force: bool
    read_group: str | Sequence[str] | None
    sample: str | None
    library: str | None
    input_reference: AnyPath | None
    interleaved: bool
    single: bool
    comments: bool
    phred64: bool
    phred33: bool
    umi: str | None
    umi_duplex: bool
    sort: str | None
    mark_duplicates: bool
    write_index: bool
    no_pg: bool
    paf: bool
    bgzf: str
    index: AnyPath | None
    alt: AnyPath | None
    no_alt: bool
    preset: str | None
    insert_size: float | tuple[float | int, ...] | None
    min_score: int
    soft_clip: bool
    eqx: bool
    cs: str
    all_hits: bool
    secondary: int | None
    split_secondary: bool
    five_prime: bool
    no_rescue: bool
    no_pairing: bool
    match: int
    mismatch: int
    gap_open: int
    gap_extend: int
    clip: int
    trim: bool
    adapter: AnyPath | Sequence[AnyPath]
    adapter2: AnyPath | Sequence[AnyPath]
    trim_poly_g: str
    trim_quality: int
    trim_min_length: int
    trim_bases: str
    correct_overlap: bool
    part: str | None
    resume: bool
    threads: int | None
    memory: int | str | None
    device: str
    vram: int | str | None
    batch_bases: int | None

class AlignerOptions(TypedDict, total=False):
    alt: AnyPath | None
    no_alt: bool
    preset: str | None
    insert_size: float | tuple[float | int, ...] | None
    min_score: int
    soft_clip: bool
    eqx: bool
    cs: str
    all_hits: bool
    secondary: int | None
    split_secondary: bool
    five_prime: bool
    no_rescue: bool
    no_pairing: bool
    match: int
    mismatch: int
    gap_open: int
    gap_extend: int
    clip: int
    trim: bool
    adapter: AnyPath | Sequence[AnyPath]
    adapter2: AnyPath | Sequence[AnyPath]
    trim_poly_g: str
    trim_quality: int
    trim_min_length: int
    trim_bases: str
    correct_overlap: bool

class CallOptions(TypedDict, total=False):
    file_list: AnyPath | None
    force: bool
    sample: str | Sequence[str]
    phred64: bool
    phred33: bool
    region: str | tuple[str, int, int] | Sequence[str | tuple[str, int, int]] | None
    targets: AnyPath | Sequence[AnyPath] | None
    interval_padding: int
    exclude_regions: AnyPath | Sequence[AnyPath] | None
    platform: str
    gvcf: bool
    alleles: AnyPath | None
    bam_output: AnyPath | None
    haplotag: AnyPath | None
    ploidy: int
    min_base_quality: int
    min_mapping_quality: int
    max_depth: int
    min_alternate_count: int
    min_alternate_fraction: float
    min_indel_fraction: float
    min_alternate_quality: int
    max_mnp_distance: int
    primers: AnyPath | None
    ignore_soft_clips: bool
    heterozygosity: float
    indel_heterozygosity: float
    ploidy_bed: AnyPath | None
    circular: str | Sequence[str]
    min_quality: float
    max_strand_bias: float
    max_indel_strand_bias: float
    min_end_distance: float
    min_allele_fraction: float
    min_haploid_fraction: float
    max_fraction_misfit: float
    min_alt_mapping_quality: float
    min_expected_fraction: float
    mixture: bool
    somatic: bool
    population: AnyPath | None
    panel_of_normals: AnyPath | None
    contamination: float | None
    mutation_prior: float
    min_probability: float
    min_fraction: float
    max_events: int
    consensus: AnyPath | None
    consensus_min_depth: int
    consensus_share: float
    normal: str | Sequence[str]
    sv: AnyPath | None
    min_sv_length: int
    max_sv_length: int
    min_sv_support: int
    sv_only: bool
    threads: int | None
    memory: int | str | None
    device: str
    vram: int | str | None
    batch_bases: int | None

class CallerOptions(TypedDict, total=False):
    platform: str
    ploidy: int
    min_base_quality: int
    min_mapping_quality: int
    max_depth: int
    min_alternate_count: int
    min_alternate_fraction: float
    min_indel_fraction: float
    min_alternate_quality: int
    max_mnp_distance: int
    ignore_soft_clips: bool
    heterozygosity: float
    indel_heterozygosity: float
    min_quality: float
    max_strand_bias: float
    max_indel_strand_bias: float
    min_end_distance: float
    min_allele_fraction: float
    min_haploid_fraction: float
    max_fraction_misfit: float
    min_alt_mapping_quality: float
    min_expected_fraction: float
    mixture: bool
    somatic: bool
    population: AnyPath | None
    panel_of_normals: AnyPath | None
    contamination: float | None
    mutation_prior: float
    min_probability: float
    min_fraction: float
    max_events: int
    normal: str | Sequence[str]

class RunOptions(TypedDict, total=False):
    force: bool
    no_pg: bool
    bgzf: str
    no_mark_duplicates: bool
    no_report: bool
    resume: bool
    read_group: str | Sequence[str] | None
    sample: str | None
    library: str | None
    input_reference: AnyPath | None
    interleaved: bool
    single: bool
    comments: bool
    phred64: bool
    phred33: bool
    umi: str | None
    umi_duplex: bool
    index: AnyPath | None
    alt: AnyPath | None
    no_alt: bool
    preset: str | None
    insert_size: float | tuple[float | int, ...] | None
    min_score: int
    soft_clip: bool
    eqx: bool
    cs: str
    all_hits: bool
    secondary: int | None
    split_secondary: bool
    five_prime: bool
    no_rescue: bool
    no_pairing: bool
    match: int
    mismatch: int
    gap_open: int
    gap_extend: int
    clip: int
    trim: bool
    adapter: AnyPath | Sequence[AnyPath]
    adapter2: AnyPath | Sequence[AnyPath]
    trim_poly_g: str
    trim_quality: int
    trim_min_length: int
    trim_bases: str
    correct_overlap: bool
    region: str | tuple[str, int, int] | Sequence[str | tuple[str, int, int]] | None
    targets: AnyPath | Sequence[AnyPath] | None
    interval_padding: int
    exclude_regions: AnyPath | Sequence[AnyPath] | None
    platform: str
    gvcf: bool
    alleles: AnyPath | None
    bam_output: AnyPath | None
    haplotag: AnyPath | None
    ploidy: int
    min_base_quality: int
    min_mapping_quality: int
    max_depth: int
    min_alternate_count: int
    min_alternate_fraction: float
    min_indel_fraction: float
    min_alternate_quality: int
    max_mnp_distance: int
    primers: AnyPath | None
    ignore_soft_clips: bool
    heterozygosity: float
    indel_heterozygosity: float
    ploidy_bed: AnyPath | None
    circular: str | Sequence[str]
    min_quality: float
    max_strand_bias: float
    max_indel_strand_bias: float
    min_end_distance: float
    min_allele_fraction: float
    min_haploid_fraction: float
    max_fraction_misfit: float
    min_alt_mapping_quality: float
    min_expected_fraction: float
    mixture: bool
    somatic: bool
    population: AnyPath | None
    panel_of_normals: AnyPath | None
    contamination: float | None
    mutation_prior: float
    min_probability: float
    min_fraction: float
    max_events: int
    consensus: AnyPath | None
    consensus_min_depth: int
    consensus_share: float
    sv: AnyPath | None
    min_sv_length: int
    max_sv_length: int
    min_sv_support: int
    threads: int | None
    memory: int | str | None
    device: str
    vram: int | str | None
    batch_bases: int | None

class GenotypeOptions(TypedDict, total=False):
    file_list: AnyPath | None
    force: bool
    region: str | tuple[str, int, int] | Sequence[str | tuple[str, int, int]] | None
    targets: AnyPath | Sequence[AnyPath] | None
    interval_padding: int
    exclude_regions: AnyPath | Sequence[AnyPath] | None
    ploidy: int
    max_alleles: int
    heterozygosity: float
    indel_heterozygosity: float
    max_mnp_distance: int
    min_quality: float
    max_strand_bias: float
    max_indel_strand_bias: float
    min_end_distance: float
    min_allele_fraction: float
    min_haploid_fraction: float
    max_fraction_misfit: float
    min_alt_mapping_quality: float
    min_expected_fraction: float
    threads: int | None
    memory: int | str | None

class PanelOptions(TypedDict, total=False):
    file_list: AnyPath | None
    force: bool
    min_samples: int
    threads: int | None

class ConsensusOptions(TypedDict, total=False):
    force: bool
    duplex: bool
    min_reads: int | Sequence[int]
    max_reads: int | None
    min_input_base_quality: int
    error_rate_pre_umi: int
    error_rate_post_umi: int
    consensus_call_overlapping_bases: bool
    min_consensus_base_quality: int
    max_read_error_rate: float
    max_base_error_rate: float
    max_no_calls: float
    require_single_strand_agreement: bool
    output_per_base_tags: bool
    read_group_id: str
    read_name_prefix: str | None
    reference: AnyPath | None
    no_pg: bool
    threads: int | None
    memory: int | str | None

class ReportOptions(TypedDict, total=False):
    force: bool
    bam: AnyPath | Sequence[AnyPath]
    vcf: AnyPath | Sequence[AnyPath]
    metrics: AnyPath | Sequence[AnyPath]
    reference: AnyPath | None
    targets: AnyPath | Sequence[AnyPath] | None
    title: str | None
    statistics: AnyPath | None
    threads: int | None

class PairwiseOptions(TypedDict, total=False):
    mode: str
    force: bool
    format: str
    traceback: bool
    threads: int | None
    device: str
    match: int
    mismatch: int
    gap_open: int
    gap_extend: int
