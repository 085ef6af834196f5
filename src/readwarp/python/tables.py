"""Results as pandas and Arrow tables, whose libraries are imported on demand."""

from collections.abc import Sequence
from importlib import import_module
from typing import Any, NamedTuple

from readwarp.errors import MissingLibraryError

TEXT, INTEGER, REAL = "text", "integer", "real"
TEXTS, INTEGERS, REALS = "texts", "integers", "reals"  # a list in each row
KINDS: dict[type, str] = {str: TEXT, bool: INTEGER, int: INTEGER, float: REAL}
LISTS = {TEXT: TEXTS, INTEGER: INTEGERS, REAL: REALS}
ARROW = {TEXT: "string", INTEGER: "int64", REAL: "float64"}
PANDAS = {TEXT: "string", REAL: "float64"}  # integers are Int64 if some are unknown; lists are objects


class Column(NamedTuple):
    name: str
    kind: str  # one of the above
    values: Sequence[Any]  # None: unknown


def kind_of(values: Sequence[Any]) -> str:
    """Return the kind of a column by its first known value; a real number makes a column of integers real."""
    known = [value for value in values if value is not None]
    if known and isinstance(known[0], tuple | list):
        return LISTS[kind_of([item for value in known for item in value])]
    kinds = {KINDS[type(value)] for value in known}
    return REAL if kinds == {INTEGER, REAL} else next(iter(kinds), TEXT)


class Tabular:
    """Results that are also tables. The columns are made once the library is known to be there."""

    __slots__ = ()

    def to_arrow(self) -> Any:
        """Return a pyarrow.Table, which Polars, DuckDB and others accept. Raises MissingLibraryError."""
        arrow = library("pyarrow", "Arrow tables")
        types = {kind: getattr(arrow, name)() for kind, name in ARROW.items()}
        types |= {LISTS[kind]: arrow.list_(type_) for kind, type_ in types.items()}
        return arrow.table({name: arrow.array(values, types[kind]) for name, kind, values in self._columns()})

    def to_pandas(self) -> Any:
        """Return a pandas.DataFrame. Raises MissingLibraryError."""
        pandas = library("pandas", "data frames")

        def dtype(column: Column) -> str:
            if column.kind == INTEGER:
                return "Int64" if None in column.values else "int64"
            return PANDAS.get(column.kind, "object")

        columns = self._columns()
        return pandas.DataFrame({column.name: pandas.Series(column.values, dtype=dtype(column)) for column in columns})

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Export Arrow's interface: pyarrow.table(results), polars.DataFrame(results)."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def _columns(self) -> Sequence[Column]:
        raise NotImplementedError


def library(name: str, purpose: str) -> Any:
    """Import an optional library. Raises MissingLibraryError."""
    try:
        return import_module(name)
    except ImportError:
        raise MissingLibraryError(f"{purpose} need {name}: python -m pip install {name}") from None
