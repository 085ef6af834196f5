"""Names that mean something to a shell, a browser, a terminal, a spreadsheet or a file system, for Hypothesis."""

from hypothesis import strategies as st

PIECES = (
    *("'", '"', "`id`", "$(id)", "${HOME}", ";", "|", "&&", "\\", "%", "%s", "%{x}", "{}", "{0}", "*", "?"),
    *("<script>alert(1)</script>", "<b>", "</title>", "<!--", "]]>", "&lt;", "&#60;", '" onload="x', "<br>"),
    *("</script>", "[red]x[/]", "=1+1", "@RG", "#"),
    *("\n", "\r", "\t", "\0", "\x1b[31m", "\x1b]0;x\x07", "\x7f", "\x85", "\u2028", "\u2029", "\x0b", "\x1c"),
    *("\u00e9", "\u65e5\u672c", "\U0001f600", "\u202e", "\u200d", "\u200f", "\ufeff", "\udcff", "\xa0"),
    *("/", "..", "../x", "./", "-", "--force", ".", "~", ":", "s3:", "##idx##", ",", "=", " ", "a", "NA12878"),
    "long" * 60,
)
parts = st.one_of(st.sampled_from(PIECES), st.text(max_size=3))
names = st.lists(parts, min_size=1, max_size=4).map("".join).filter(bool)
EVERY = tuple("a" + "b".join(PIECES[n : n + 9]) for n in range(0, len(PIECES), 9))  # each piece once
