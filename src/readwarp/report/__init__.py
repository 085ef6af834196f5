"""report: one page of HTML on one sample or several, and the texts of samtools and bcftools that it is made from.

`statistics.make` makes the texts, `page.write` the page of them. The package can be called: `readwarp.report(...)` is
`readwarp.report.api.report(...)`.
"""

from typing import TYPE_CHECKING

from readwarp.callable_package import make_callable

if TYPE_CHECKING:
    from readwarp.report.api import report

__all__ = ["report"]

make_callable(__name__, {"report": "readwarp.report.api"})
