"""Provide readwarp.panel, the command `readwarp panel` from Python."""

from collections.abc import Sequence
from typing import Unpack

from readwarp.config.commands import PanelOptions
from readwarp.config.declare import chosen
from readwarp.config.options import FileOptions, FractionOptions
from readwarp.formats.common.files import named_files
from readwarp.python.keywords import AnyPath, command_line, path_or_none
from readwarp.somatic.panel.job import PanelJob, run_panel
from readwarp.stream.display import Listener, reporting
from readwarp.stream.reporter import Result
from readwarp.system.machine import usable_threads


def panel(
    *normals: AnyPath, output: AnyPath, progress: Listener | bool | None = None, **options: Unpack[PanelOptions]
) -> Result:
    """Make a panel of normals, for `readwarp.call(..., somatic=True, panel_of_normals=...)`, as `readwarp panel` does.

    normals: sorted VCF, VCF.gz or BCF of normals, each called by itself with mixture=True or somatic=True; @FILE is a
    list of them. output: .vcf, .vcf.gz or .bcf. progress: a function that is called with a `Progress`, True for a bar,
    False for none; None: a bar in a notebook.

        readwarp.panel("normal1.vcf.gz", "normal2.vcf.gz", "normal3.vcf.gz", output="pon.vcf.gz")

    Returns the paths that were written (variants, variants_index) and the metrics. Raises UsageError and InputError,
    each a ReadwarpError; there is no output then.
    """
    command = command_line("panel", PanelOptions, options, *normals, output=output)
    with reporting(command, progress) as reporter:
        return run_panel(make_job(normals, output, options, command), reporter)


def make_job(normals: Sequence[AnyPath], output: AnyPath | None, options: PanelOptions, command: str) -> PanelJob:
    """Make the job. Raises UsageError, and InputError for a list that cannot be read."""
    names = chosen(FileOptions(), options).names(normals)
    return PanelJob(
        inputs=tuple(path for name in names for path in named_files(name, "calls of a normal")),
        output=path_or_none(output),
        min_samples=chosen(FractionOptions(), options).min_samples,
        threads=options.get("threads") or usable_threads(),
        command=command,
        force=options.get("force", False),
    )
