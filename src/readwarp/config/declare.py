"""Options, each declared once: a field of a dataclass, with its help, names and bounds.

The option of the command line, the keyword in Python, its help and its check are made from the declaration.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields, replace
from functools import cache
from os import PathLike
from typing import Any, NamedTuple, TypeVar, dataclass_transform, get_args

from readwarp.errors import UsageError

AnyPath = str | PathLike[str]
Size = int | str  # bytes, or a text such as "8G"
MAX_INTEGER = (1 << 31) - 1  # kernels compare with 32-bit numbers
Group = TypeVar("Group")


class Option(NamedTuple):
    """How a command line spells, explains and reads the value of a field."""

    help: str
    names: tuple[str, ...] = ()  # letters (-o), and long names besides the keyword's
    keyword: str = ""  # if it is not the name of the field; no_NAME: its negation
    metavar: str = ""
    kind: str = ""  # of text, for `readwarp.cli.options`; "": by the type
    choices: Collection[str] = ()
    least: float | None = None
    most: float | None = None
    is_open: bool = False  # the value lies between least and most, and is neither
    is_own: bool = False  # the default depends on other options: None is shown
    is_required: bool = False

    def fault_of(self, value: Any) -> str:
        """Return the rest of an error about a value outside the bounds or choices; empty for any other."""
        least, most = self.least, self.most
        if self.choices and value not in self.choices:
            return f" {value}: not one of {', '.join(self.choices)}"
        if self.is_open and not least < value < most:
            return f" must lie between {least:,} and {most:,}"
        if (least is not None and not value >= least) or (most is not None and not value <= most):
            return f" must be at least {least:,}" if most is None else f" must be {least:,} to {most:,}"
        return ""


class Keyword(NamedTuple):
    """An option of a command."""

    name: str  # keyword in Python; with dashes, option of the command line
    field: str
    type: Any
    default: Any
    option: Option

    @property
    def flag(self) -> str:
        return f"--{self.name.replace('_', '-')}"

    @property
    def is_negation(self) -> bool:
        return self.name == f"no_{self.field}"

    @property
    def spellings(self) -> tuple[str, ...]:
        """Options of the command line: letters, the long name, and further long names."""
        letters = tuple(name for name in self.option.names if not name.startswith("--"))
        own = (self.flag,) if len(self.name) > 1 else ()
        return *letters, *own, *(name for name in self.option.names if name.startswith("--"))

    @property
    def types(self) -> tuple[Any, ...]:
        return get_args(self.type) or (self.type,)

    @property
    def help(self) -> str:
        """Help text with the default, unless that is implied or the text names it."""
        value, text = self.default, self.option.help
        if value in (None, (), "") or isinstance(value, bool) or text.endswith("]"):
            return text
        shown = f"{value:,}" if isinstance(value, int) and value >= 10_000 else value
        return f"{text} [{f'{shown:g}' if isinstance(shown, int | float) else shown}]"


def option(default: Any, help: str, names: str = "", **details: Any) -> Any:
    """Declare the field of a dataclass as an option. names: `-o --other`; details: of `Option`."""
    return field(default=default, metadata={"option": Option(help, tuple(names.split()), **details)})


@dataclass_transform(frozen_default=True)
def options(group: type[Group]) -> type[Group]:
    """Make a dataclass of options that are not parameters, checked on creation; frozen for type checkers alone.

    `--help` has to be instant: a dataclass would generate each method, and a docstring where there is none.
    """
    made: Any = group
    made.__init__, made.__doc__ = _set_fields, group.__doc__ or group.__name__
    return dataclass(init=False, repr=False, eq=False)(group)


def _set_fields(group: Any, **given: Any) -> None:
    for each in fields(group):
        setattr(group, each.name, given.get(each.name, each.default))
    check_options(group)


class Checked:
    """A base of parameters, which are checked on creation."""

    __slots__ = ()

    def __post_init__(self) -> None:
        """Raise UsageError for an option outside its bounds or choices, or an integer beyond 32 bits."""
        check_options(self)
        group: Any = self
        flags = {each.field: each.flag for each in list_keywords(group.__class__)}
        for each in fields(group):
            value = getattr(self, each.name)
            if isinstance(value, int) and abs(value) > MAX_INTEGER:
                raise UsageError(f"{flags.get(each.name, each.name)} {value}: {MAX_INTEGER:,} at most")


@cache
def list_keywords(group: Any) -> tuple[Keyword, ...]:
    """List the options among the fields of a dataclass."""
    return tuple(_keyword(each, each.metadata["option"]) for each in fields(group) if "option" in each.metadata)


def _keyword(declared: Field[Any], option: Option) -> Keyword:
    name, value = option.keyword or declared.name, None if option.is_own else declared.default
    assert value is not MISSING
    kind = declared.type | None if option.is_own else declared.type  # type: ignore[operator]
    made = Keyword(name, declared.name, kind, value, option)
    return made._replace(default=not value) if made.is_negation else made


def part(group: type, which: str = ":", **changes: str | dict[str, Any]) -> tuple[Keyword, ...]:
    """Return some options of a group: `one`, or from `first:last`. changes: help texts, or fields of `Option`, here."""
    rows = list_keywords(group)
    names, (first, colon, last) = [each.name for each in rows], which.partition(":")
    start = names.index(first) if first else 0
    stop = names.index(last) + 1 if last else len(rows) if colon else start + 1
    return tuple(_changed(each, changes.get(each.name, {})) for each in rows[start:stop])


def without_letters(group: type) -> tuple[Keyword, ...]:
    """Return the options of a group for a command whose letters mean others."""
    return tuple(_changed(each, {"names": ()}) for each in list_keywords(group))


def _changed(keyword: Keyword, change: str | dict[str, Any]) -> Keyword:
    fields = {"help": change} if isinstance(change, str) else change
    return keyword._replace(option=keyword.option._replace(**fields))


class Command:
    """The options of a command, as keywords in Python too: type checkers read them in `commands.pyi`."""

    groups: Sequence[tuple[Any, ...]]  # title in the help, and dataclasses or parts of them, in its order


def list_groups(command: Any) -> Iterator[tuple[str, list[Keyword]]]:
    """Yield the titles and options of a command, in the order of its help. command: a `Command`."""
    for title, *items in command.groups:
        rows = [item if isinstance(item, tuple) else list_keywords(item) for item in items]
        yield title, [each for row in rows for each in row]


@cache
def keywords_of(command: Any) -> Mapping[str, Keyword]:
    """Return the options of a command that are keywords in Python, by name: all but the output."""
    return {each.name: each for _, group in list_groups(command) for each in group if each.name != "output"}


def chosen(base: Group, options: Mapping[str, Any]) -> Group:
    """Return a group of options, or parameters, with the fields that are given; those absent or None stay."""
    group: Any = base
    given = {
        each.field: not options[each.name] if each.is_negation else options[each.name]
        for each in list_keywords(group.__class__)
        if options.get(each.name) is not None
    }
    return replace(group, **given) if given else base


def check_options(group: Any) -> None:
    """Raise UsageError for an option outside its bounds or choices."""
    for each in list_keywords(group.__class__):
        value = getattr(group, each.field)
        if value is not None and (fault := each.option.fault_of(value)):
            raise UsageError(f"{each.flag}{fault}")
