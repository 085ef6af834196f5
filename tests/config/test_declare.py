"""A declared field becomes an option, a keyword and a check, which agree."""

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from readwarp.cli import parse
from readwarp.cli.options import pick_keywords, takes_several
from readwarp.config import commands
from readwarp.config.declare import Checked, Keyword, chosen, keywords_of, list_keywords, option, part, without_letters
from readwarp.config.options import ResourceOptions
from readwarp.errors import UsageError
from readwarp.python.keywords import check_keywords, command_line

FILES = {"call": ("ref.fa",), "genotype": ("ref.fa",), "report": (), "index": ("ref.fa",), "consensus": ("a.bam",)}
KINDS = {
    "size": st.sampled_from(["8G", "500M"]),
    "count": st.integers(1, 1000),
    "secondary": st.integers(0, 72),
    "insert size": st.tuples(st.integers(1, 999).map(float), st.floats(0.5, 99)),
    "whole numbers": st.lists(st.integers(0, 9), min_size=1, max_size=3).map(tuple),
}
TEXTS = st.text("abcXYZ019_.:", min_size=1, max_size=8)


@dataclass(frozen=True, slots=True)
class Example(Checked):
    """One field of each sort."""

    number: int = option(5, "a number", "-n", least=2, most=9)
    fraction: float = option(0.5, "a fraction", "--share", keyword="part", least=0.0, most=1.0)
    floor: int = option(3, "a floor", least=1)
    prior: float = option(0.5, "a prior", least=0, most=1, is_open=True)
    form: str = option("short", "a form", choices=("short", "long"))
    search: bool = option(True, "do not search", keyword="no_search")
    path: str | None = option(None, "a path [none]")
    inner: int = 7


def values_of(keyword: Keyword) -> st.SearchStrategy[Any]:
    """Values that both the command line and Python take."""
    chosen_from, types = keyword.option.choices, keyword.types
    if bool in types:
        return st.just(True)
    if chosen_from:
        return st.sampled_from(sorted(chosen_from))
    kind = keyword.option.kind or ("size" if {int, str} <= {*types} else "count" if types == (int, type(None)) else "")
    if kind:
        return KINDS[kind]
    if int in types:
        return st.integers(0, 1000)
    if float in types:
        return st.floats(0, 1e6)
    return st.lists(TEXTS, min_size=1, max_size=3) if takes_several(keyword) else TEXTS


@pytest.mark.parametrize("name", ["align", "call", "run", "genotype", "panel", "index", "merge", "consensus", "report"])
@given(data=st.data())
@settings(max_examples=20)
def test_the_command_line_gives_what_python_is_given(name, data):
    command = getattr(commands, f"{name.capitalize()}Options")
    known = {key: each for key, each in keywords_of(command).items() if len(key) > 1}
    given = {key: data.draw(values_of(known[key]), key) for key in data.draw(st.sets(st.sampled_from(sorted(known))))}
    check_keywords(name, given, command)
    files = FILES.get(name, ("ref.fa", "a.fq"))
    line = command_line(name, command, given, *files, output="out")
    found = pick_keywords(parse(shlex.split(line)[1:]), command)
    assert {key: value if isinstance(value, list) else str(value) for key, value in found.items()} == {
        key: [*map(str, value)] if isinstance(value, list) else str(parsed(value)) for key, value in given.items()
    }


def parsed(value: Any) -> Any:
    """As the command line has it."""
    return {"8G": 8 << 30, "500M": 500 << 20}.get(value, value) if isinstance(value, str) else value


@given(
    number=st.integers(-3, 15),
    share=st.floats(-1, 2) | st.just(float("nan")),
    floor=st.integers(-3, 1 << 33),
    prior=st.floats(-1, 2) | st.sampled_from([0.0, 1.0, float("nan")]),
    form=st.sampled_from(["short", "long", "medium"]),
)
def test_bounds(number, share, floor, prior, form):
    """A value outside of its bounds or choices is refused, by the option's name."""
    wrong = {
        "--number must be 2 to 9": not 2 <= number <= 9,
        "--part must be 0.0 to 1.0": not 0 <= share <= 1,
        "--floor must be at least 1": floor < 1,
        "--prior must lie between 0 and 1": not 0 < prior < 1,
        f"--form {form}: not one of short, long": form == "medium",
        f"--floor {floor}: 2,147,483,647 at most": floor > 2**31 - 1,
    }
    options = {"number": number, "part": share, "floor": floor, "prior": prior, "form": form}
    if not any(wrong.values()):
        assert chosen(Example(), options) == Example(number, share, floor, prior, form)
        return
    with pytest.raises(UsageError) as caught:
        chosen(Example(), options)
    assert str(caught.value) == next(text for text, is_wrong in wrong.items() if is_wrong)


def test_options_that_are_not_given_leave_the_field():
    base = Example(number=8, search=False)
    assert chosen(base, {}) is base and chosen(base, {"number": None, "other": 1}) is base
    assert chosen(base, {"no_search": False}) == Example(number=8)
    assert not chosen(Example(), {"no_search": True}).search


def test_spellings_and_help():
    number, fraction, floor, _, form, search, path = list_keywords(Example)
    assert number.spellings == ("-n", "--number") and fraction.spellings == ("--part", "--share")
    assert [each.help for each in (number, fraction, floor)] == ["a number [5]", "a fraction [0.5]", "a floor [3]"]
    assert form.help == "a form [short]" and search.help == "do not search" and path.help == "a path [none]"
    assert search.spellings == ("--no-search",) and search.default is False
    assert without_letters(Example)[0].spellings == ("--number",)


def test_parts_of_a_group():
    names = [each.name for each in list_keywords(Example)]
    for which, wanted in ((":", names), ("part", ["part"]), ("floor:", names[2:]), (":part", names[:2])):
        assert [each.name for each in part(Example, which)] == wanted
    assert [each.name for each in part(Example, "part:form")] == ["part", "floor", "prior", "form"]
    changed = part(Example, "number:part", number="some number [of]", part={"metavar": "X"})
    assert changed[0].help == "some number [of]" and changed[1].option.metavar == "X"
    assert list_keywords(Example)[0].help == "a number [5]"


def test_paths_of_the_command_line_are_paths():
    options = parse(["align", "ref.fa", "a.fq", "--input-reference", "x.fa", "--adapter", "ACGTACGT"])
    assert pick_keywords(options, commands.AlignOptions) == {"input_reference": Path("x.fa"), "adapter": ["ACGTACGT"]}


def test_memory_may_exceed_32_bits():
    assert chosen(ResourceOptions(), {"memory": 1 << 40}).memory == 1 << 40
