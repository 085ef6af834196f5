# The table of lanes, which all workflows have: its checks, and look-ups for the rules.

import re
from difflib import get_close_matches
from pathlib import Path
from shlex import quote

import pandas as pd
from snakemake.exceptions import WorkflowError
from snakemake.utils import validate

UNIT_COLUMNS = [  # as units.schema.yaml has them
    "sample",
    "unit",
    "reads_1",
    "reads_2",
    "platform",
    "library",
    "preset",
]
PLATFORMS = {"hifi": "PACBIO", "ont": "ONT"}  # PL of long reads, by their preset


OTHER_NAMES = [  # of columns, in other workflows
    (r"(?:fastq|fq|reads?|r)_?([12])", r"reads_\1"),
    (r"lane|run|unit_name", "unit"),
    (r"sample_?(?:name|id)", "sample"),
]


def nearest_column(name, known):
    """What a column that is not known was probably meant to be, or None."""
    name = name.lower()
    for pattern, column in OTHER_NAMES:
        if match := re.fullmatch(pattern, name):
            name = match.expand(column)
    return next(iter(get_close_matches(name, known, 1, 0.6)), None)


def check_columns(path, names, known):
    """Refuse a column that is not known: it is mistyped, or would be ignored."""
    for name in names:
        if name in known:
            continue
        near = nearest_column(name, known)
        hint = f" (did you mean {near!r}?)" if near else ""
        if len(names) == 1:
            hint = " (is the table separated by tabs?)"
        raise WorkflowError(
            f"{path}: unknown column {name!r}{hint}; it has {', '.join(names)}, and may have {', '.join(known)}"
        )


def table(path, kind, known):
    """Read a tab-separated table and check its columns and every line, by the schema of the file that calls this."""
    if not Path(path).is_file():
        raise WorkflowError(f"{path}: no such table (see config/README.md)")
    rows = pd.read_csv(
        path,
        sep="\t",
        dtype=dict.fromkeys(("sample", "unit", "library", "patient"), str),
        keep_default_na=False,  # a sample may be called NA
        na_values=[""],
    )
    rows.columns = rows.columns.str.strip()
    check_columns(path, list(rows.columns), known)
    rows = rows.map(lambda cell: cell.strip() if isinstance(cell, str) else cell)
    rows = rows.astype(object).where(rows.notna(), None)
    rows = rows.drop(columns=[name for name in rows.columns if rows[name].isna().all()])
    validate(rows, schema=f"../schemas/{kind}.schema.yaml")
    if rows.empty:
        raise WorkflowError(f"{path}: the table is empty")
    return rows


def check_presets(sample, own):
    """own: the units of the sample."""
    presets, reason = {unit.get("preset") or "" for unit in own}, ""
    if len(presets) > 1:
        reason = "units of different presets: give each kind of reads a sample"
    elif presets != {""} and any(unit.get("reads_2") for unit in own):
        reason = "long reads with mates"
    elif presets != {""} and config["reference"]["preset"] != "standard":
        reason = "long reads, for which reference.preset is standard"
    if reason:
        raise WorkflowError(f"{config['units']}: sample {sample} has {reason}")


def check_units():
    """Report lanes that cannot be combined, before any job starts."""
    named = units[units.duplicated(["sample", "unit"])]
    if len(named):
        raise WorkflowError(
            f"{config['units']}: unit {named.iloc[0]['unit']} of sample {named.iloc[0]['sample']} is listed twice"
        )
    for sample, own in units.groupby("sample"):
        check_presets(sample, [unit for _, unit in own.iterrows()])


def check_samples(samples):
    """Report samples that occur twice, or in only one of the tables."""
    twice = samples.index[samples.index.duplicated()].tolist()
    if twice:
        raise WorkflowError(f"{config['samples']}: sample {twice[0]} is listed twice")
    unknown = sorted(set(units["sample"]) - set(samples.index))
    if unknown:
        raise WorkflowError(
            f"{config['units']}: sample {unknown[0]} is not in {config['samples']}"
        )
    without = [sample for sample in samples.index if sample not in set(units["sample"])]
    if without:
        raise WorkflowError(f"{config['units']}: sample {without[0]} has no unit")


def check_short_reads():
    """Refuse long reads, of which fractions are not called."""
    for _, unit in units.iterrows():
        if unit.get("preset"):
            raise WorkflowError(
                f"{config['units']}: sample {unit['sample']} has long reads; this workflow is for short ones"
            )


units = table(config["units"], "units", UNIT_COLUMNS)
check_units()
units = units.set_index(["sample", "unit"], drop=False).sort_index()


wildcard_constraints:
    sample="|".join(map(re.escape, sorted(set(units["sample"])))),
    unit="|".join(map(re.escape, sorted(set(units["unit"])))),


def reads_of(wildcards):
    """The one or two files of a unit."""
    unit = units.loc[(wildcards.sample, wildcards.unit)]
    return [path for path in (unit["reads_1"], unit.get("reads_2")) if path]


def read_group(wildcards):
    unit = units.loc[(wildcards.sample, wildcards.unit)]
    library, platform = (
        unit.get("library") or wildcards.sample,
        unit.get("platform") or PLATFORMS.get(unit.get("preset"), "ILLUMINA"),
    )
    return rf"@RG\tID:{wildcards.sample}.{wildcards.unit}\tSM:{wildcards.sample}\tLB:{library}\tPL:{platform}"


def preset_of(wildcards):
    """The option of long reads; that of others follows from the index."""
    preset = units.loc[(wildcards.sample, wildcards.unit)].get("preset")
    return f"--preset {preset}" if preset else ""


def units_of(wildcards):
    """The aligned lanes of a sample, in the order of their names."""
    return expand(
        "results/units/{sample}/{unit}.bam",
        sample=wildcards.sample,
        unit=units.loc[wildcards.sample]["unit"],
    )
