# Tables and config: reading, checks, and look-ups for the rules.

from difflib import get_close_matches
from pathlib import Path
from shlex import quote

import pandas as pd
from snakemake.exceptions import WorkflowError
from snakemake.utils import validate

validate(config, schema="../schemas/config.schema.yaml")


COLUMNS = {  # of the tables, as their schemas have them
    "samples": ["sample", "ploidy"],
    "units": [
        "sample",
        "unit",
        "reads_1",
        "reads_2",
        "platform",
        "library",
        "preset",
    ],
}
PLATFORMS = {"hifi": "PACBIO", "ont": "ONT"}  # PL of long reads, by their preset


def check_columns(path, names, kind):
    """Refuse a column that is not known: it is mistyped, or would be ignored."""
    known = COLUMNS[kind]
    for name in names:
        if name in known:
            continue
        near = get_close_matches(name.lower(), known, 1, 0.6)
        hint = f"perhaps {near[0]!r}; " if near else ""
        if len(names) == 1:
            hint = "is the table separated by tabs? "
        raise WorkflowError(
            f"{path}: no column {name!r} ({hint}there are {', '.join(known)})"
        )


def table(path, kind):
    """Read a tab-separated table and check its columns and every line."""
    if not Path(path).is_file():
        raise WorkflowError(f"{path}: no such table (see config/README.md)")
    rows = pd.read_csv(
        path,
        sep="\t",
        dtype={"sample": str, "unit": str, "library": str},
        keep_default_na=False,  # a sample may be called NA
        na_values=[""],
    )
    rows.columns = rows.columns.str.strip()
    check_columns(path, list(rows.columns), kind)
    rows = rows.map(lambda cell: cell.strip() if isinstance(cell, str) else cell)
    rows = rows.astype(object).where(rows.notna(), None)
    rows = rows.drop(columns=[name for name in rows.columns if rows[name].isna().all()])
    validate(rows, schema=f"../schemas/{kind}.schema.yaml")
    if rows.empty:
        raise WorkflowError(f"{path}: the table is empty")
    return rows


samples = table(config["samples"], "samples").set_index("sample", drop=False)
units = table(config["units"], "units")

SAMPLES = list(samples.index)
SCATTER = config["call"]["scatter"]


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


def check_tables():
    """Report names that occur twice, or in only one table, before any job starts."""
    twice = samples.index[samples.index.duplicated()].tolist()
    if twice:
        raise WorkflowError(f"{config['samples']}: sample {twice[0]} is listed twice")
    named = units[units.duplicated(["sample", "unit"])]
    if len(named):
        raise WorkflowError(
            f"{config['units']}: unit {named.iloc[0]['unit']} of sample {named.iloc[0]['sample']} is listed twice"
        )
    unknown = sorted(set(units["sample"]) - set(SAMPLES))
    if unknown:
        raise WorkflowError(
            f"{config['units']}: sample {unknown[0]} is not in {config['samples']}"
        )
    without = [sample for sample in SAMPLES if sample not in set(units["sample"])]
    if without:
        raise WorkflowError(f"{config['units']}: sample {without[0]} has no unit")
    for sample in SAMPLES:
        own = [unit for _, unit in units[units["sample"] == sample].iterrows()]
        check_presets(sample, own)


check_tables()
units = units.set_index(["sample", "unit"], drop=False).sort_index()


wildcard_constraints:
    sample="|".join(map(re.escape, SAMPLES)),
    unit="|".join(re.escape(unit) for unit in sorted(set(units["unit"]))),


scattergather:
    region=SCATTER,


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


def ploidy_of_sample(sample):
    return int(samples.loc[sample].get("ploidy") or 2)


def ploidy_of(wildcards):
    return ploidy_of_sample(wildcards.sample)


def growing(megabytes):
    """Memory that doubles with each attempt, so that `retries` helps a job that ran out of it."""

    def memory(wildcards, attempt):
        return megabytes * 2 ** (attempt - 1)

    return memory


def longer(minutes):
    def runtime(wildcards, attempt):
        return minutes * attempt

    return runtime


def planned(wildcards, resources):
    """The memory for readwarp's plan: a little less than the job's, because the interpreter takes some of it."""
    return f"{resources.mem_mb * 9 // 10}M"


TARGETS = (
    f"--targets {quote(config['call']['targets'])}" if config["call"]["targets"] else ""
)
GPUS = 0 if config["device"] == "cpu" else 1
READWARP = (
    "../envs/readwarp.yaml"
    if config["device"] == "cpu"
    else "../envs/readwarp-cuda.yaml"
)
