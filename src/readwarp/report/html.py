"""Build HTML from elements: text is escaped, elements are not, so no name in a file can become markup."""

from collections.abc import Iterable
from html import escape

VOID = ("br", "hr", "img", "input", "link", "meta")


class Html(str):
    """Text that is markup already."""

    __slots__ = ()


Content = str | Iterable["Content"] | None


def element(tag: str, *content: Content, **attributes: object) -> Html:
    """Make <tag ...>content</tag>. `class_` is class, `_` in other names is `-`; None and False omit an attribute."""
    named = "".join(
        f" {name.rstrip('_').replace('_', '-')}" + ("" if value is True else f'="{escape(str(value))}"')
        for name, value in attributes.items()
        if value is not None and value is not False
    )
    return Html(f"<{tag}{named}>" if tag in VOID else f"<{tag}{named}>{join(*content)}</{tag}>")


def join(*content: Content) -> Html:
    """Join elements and escaped texts."""
    return Html("".join(_texts(content)))


def _texts(content: Iterable[Content]) -> Iterable[str]:
    for item in content:
        if isinstance(item, Html):
            yield item
        elif isinstance(item, str):
            yield escape(item)
        elif item is not None:
            yield from _texts(item)


def table(head: Iterable[Content], rows: Iterable[Iterable[Content]], **attributes: object) -> Html:
    """Make a table whose rows begin with a heading each."""
    titles = [element("th", cell, scope="col") for cell in head]
    lines = (
        element("tr", element("th", first, scope="row"), [element("td", cell) for cell in rest], "\n")
        for first, *rest in rows
    )
    top = element("thead", element("tr", titles)) if titles else None
    return element("table", top, element("tbody", list(lines)), **attributes)


def scrolled(content: Html, label: str, **attributes: object) -> Html:
    """Wrap content that may be wider or longer than its place, to scroll it with the keyboard too."""
    return element("div", content, class_="scroll", role="region", aria_label=label, tabindex="0", **attributes)
