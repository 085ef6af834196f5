"""Report one or several samples on a page of HTML, with the samtools and bcftools texts it is made from.

`statistics.make` makes the texts, and `page.write` the page of them. The package is callable: `readwarp.report(...)` is
`readwarp.report.api.report(...)`.
"""

from typing import TYPE_CHECKING

from readwarp.python.callable_package import make_callable

if TYPE_CHECKING:
    from readwarp.report.api import report

__all__ = ["report"]

make_callable(__name__, {"report": "readwarp.report.api"})
