"""Names in readwarp for commands and options of other tools. docs/coming-from.md explains the same."""

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from readwarp.errors import UsageError

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
    rows = (row for row in _table()["options"] if command in row[0].split())
    return {name: advice.format(command=command) for _, names, advice in rows for name in names.split()}


def command_for(first: str) -> str | None:
    """Return the command that does what another tool's command of that name does."""
    return next((here for here, names in _table()["commands"].items() if first in names.split()), None)


def advice_on_step(first: str) -> str | None:
    """Return what to do in place of another tool's command of that name."""
    return next((advice for names, advice in _table()["steps"].items() if first in names.split()), None)


@cache
def _table() -> dict[str, Any]:
    import tomllib  # needed after a slip only

    return tomllib.loads(Path(__file__).with_name("habits.toml").read_text())
