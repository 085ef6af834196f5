"""What the site's search puts first: how-tos and the command line before methods, and these before notes."""

from typing import Any

BOOSTS = {"how-to/": 4.0, "reference/cli.md": 4.0, "notes/": 0.2, "decisions/": 0.2}


def on_page_markdown(markdown: str, page: Any, **_: object) -> str:
    """Called by MkDocs for each page."""
    boost = next((boost for begin, boost in BOOSTS.items() if page.file.src_uri.startswith(begin)), 1.0)
    page.meta["search"] = {"boost": boost}
    return markdown
