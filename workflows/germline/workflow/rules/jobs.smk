# What jobs ask for: memory, time, GPUs and software, the targets of calling, and the files of the report.


def growing(megabytes):
    """Memory that doubles with each attempt, so that `retries` helps a job that ran out of it.

    readwarp plans with 9 tenths of it, because the interpreter takes some. The shell works that out, since Snakemake
    keeps `params` of the first attempt.
    """

    def memory(wildcards, attempt):
        return megabytes * 2 ** (attempt - 1)

    return memory


def longer(minutes):
    def runtime(wildcards, attempt):
        return minutes * attempt

    return runtime


TARGETS = (
    f"--targets {quote(config['call']['targets'])}" if config["call"]["targets"] else ""
)
GPUS = 0 if config["device"] == "cpu" else 1
READWARP = workflow.source_path("../envs/readwarp.yaml")
ON_DEVICE = (
    READWARP
    if config["device"] == "cpu"
    else workflow.source_path("../envs/readwarp-cuda.yaml")
)


def files_of(wildcards):
    """Of each kind, the file of a sample, or those of all."""
    found = {}
    for sample in [wildcards.sample] if "sample" in wildcards.keys() else SAMPLES:
        for kind, path in reported(sample).items():
            found.setdefault(kind, []).append(path)
    return found


def named(wildcards):
    """These files as options, a sample after the other."""
    found = files_of(wildcards)
    return [
        word
        for paths in zip(*found.values())
        for kind, path in zip(found, paths)
        for word in (f"--{kind}", path)
    ]
