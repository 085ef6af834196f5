"""Records of FASTQ for Hypothesis: any letters, qualities, names and comments."""

from hypothesis import strategies as st

IUPAC = "ACGTURYSWKMBDHVNacgturyswkmbdhvn."

names = st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=12).filter(
    lambda name: not name.endswith(("/1", "/2")) and not name.startswith("@")
)
after_names = st.sampled_from(["", " 1:N:0:ACGT", "\tcomment", "/1", "/2 more words"])


@st.composite
def records(draw, name=None):
    length = draw(st.integers(0, 30))
    bases = draw(st.text(st.sampled_from(IUPAC), min_size=length, max_size=length))
    quality = draw(st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=length, max_size=length))
    return draw(names) if name is None else name, bases, quality


@st.composite
def titled(draw, record):
    """The record with a comment or mate number after its name."""
    name, bases, quality = record
    comment = draw(after_names)
    return (name if len(name) < 2 and comment.startswith("/") else name + comment), bases, quality
