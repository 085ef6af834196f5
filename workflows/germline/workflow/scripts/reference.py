"""Write the reference as plain FASTA, with its .fai."""

import gzip
import shutil
import sys
from contextlib import redirect_stderr
from pathlib import Path

import pysam

with open(snakemake.log[0], "w") as log, redirect_stderr(log):  # noqa: F821
    source, fasta = Path(snakemake.input[0]), Path(snakemake.output.fasta)  # noqa: F821
    with source.open("rb") as file:
        is_gzip = file.read(2) == b"\x1f\x8b"
    if is_gzip:
        with gzip.open(source, "rb") as packed, fasta.open("wb") as plain:
            shutil.copyfileobj(packed, plain, 1 << 20)
    else:
        fasta.unlink(missing_ok=True)
        fasta.symlink_to(source.resolve())
    try:
        pysam.faidx(str(fasta), "--fai-idx", snakemake.output.fai)  # noqa: F821
    except pysam.SamtoolsError as error:
        sys.exit(f"{source}: {error}")
