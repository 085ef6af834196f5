"""Help on functions with keywords from a TypedDict: its fields become a list in the docstring and the signature.

The comment behind a field is its documentation, written only there: `threads: int  # of the CPU`. Its default is that
in DEFAULTS of its module, which come from the parameters, or what its type implies: False, None, nothing.
"""

import ast
import inspect
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple


class ShownSignature(str):
    """A string shown in a signature without quotes."""

    __repr__ = str.__str__


class Option(NamedTuple):
    name: str
    type: str  # as written in the source
    default: Any
    meaning: str


def explain_options(function: Any, kind: type) -> None:
    """Add the options to the docstring and the signature of a function or class."""
    options, keyword = list(list_options(kind)), inspect.Parameter.KEYWORD_ONLY
    text = inspect.getdoc(function) or ""
    function.__doc__ = "\n".join([text, "", "Options:", "", *map(line_of, options), ""])
    signature = inspect.signature(function)
    kept = [each for each in signature.parameters.values() if each.kind is not inspect.Parameter.VAR_KEYWORD]
    added = [
        inspect.Parameter(each.name, keyword, default=each.default, annotation=ShownSignature(each.type))
        for each in options
    ]
    function.__signature__ = signature.replace(parameters=kept + added)


def line_of(option: Option) -> str:
    return f"    {option.name}: {option.type} = {option.default!r}" + (
        f"  # {option.meaning}" if option.meaning else ""
    )


def list_options(kind: type) -> Iterator[Option]:
    """Yield the fields of a TypedDict, its bases' first, in source order."""
    module = sys.modules[kind.__module__]
    source = inspect.getsource(module)
    lines, body = source.splitlines(), ast.parse(source).body
    declared = next(node for node in body if isinstance(node, ast.ClassDef) and node.name == kind.__name__)
    for base in declared.bases:
        if isinstance(base, ast.Name) and base.id != "TypedDict":
            yield from list_options(getattr(module, base.id))
    for node in declared.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            name, type_ = node.target.id, ast.unparse(node.annotation)
            meaning = lines[(node.end_lineno or node.lineno) - 1][node.end_col_offset or 0 :]
            known = getattr(module, "DEFAULTS", {})
            default = known[name] if name in known else implied_default(type_)
            yield Option(name, type_, default, meaning.strip().removeprefix("#").strip())


def implied_default(type_: str) -> Any:
    """Return the default that a type implies. Raises KeyError if none: the field then belongs in DEFAULTS."""
    if "None" in type_:
        return None
    return {"bool": False, "AnyPath | Sequence[AnyPath]": (), "str | Sequence[str]": ()}[type_]
