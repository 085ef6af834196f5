"""report: one page of HTML on one sample or several, and the texts of samtools and bcftools that it is made from.

`page.write` makes the page. It needs matplotlib and Jinja2 (the extra `report`); all else here does without.
"""

from importlib.util import find_spec

from readwarp.errors import ReadwarpError

NEEDS = ("matplotlib", "jinja2")
REMEDY = "pip install '.[report]' in a clone of readwarp"


def find_missing() -> list[str]:
    """The libraries of the extra `report` that are not installed."""
    return [name for name in NEEDS if find_spec(name) is None]


def check() -> None:
    """Raises ReadwarpError where a library is missing."""
    if lacking := find_missing():
        raise ReadwarpError(f"a report needs {' and '.join(lacking)}: {REMEDY}")
