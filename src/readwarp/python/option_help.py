"""Help on functions that take the options of a command: a list of them in the docstring and the signature."""

import inspect
from typing import Any

from readwarp.config.declare import Keyword, keywords_of


class ShownSignature(str):
    """A string shown in a signature without quotes."""

    __repr__ = str.__str__


def explain_options(function: Any, command: type) -> None:
    """Add the options of a command to the docstring and the signature of a function or class."""
    options, only = keywords_of(command).values(), inspect.Parameter.KEYWORD_ONLY
    text = inspect.getdoc(function) or ""
    function.__doc__ = "\n".join([text, "", "Options:", "", *map(line_of, options), ""])
    signature = inspect.signature(function)
    kept = [each for each in signature.parameters.values() if each.kind is not inspect.Parameter.VAR_KEYWORD]
    added = [
        inspect.Parameter(each.name, only, default=each.default, annotation=ShownSignature(spell_type(each.type)))
        for each in options
    ]
    function.__signature__ = signature.replace(parameters=kept + added)


def line_of(keyword: Keyword) -> str:
    return f"    {keyword.name}: {spell_type(keyword.type)} = {keyword.default!r}  # {keyword.option.help}"


def spell_type(kind: Any) -> str:
    """Spell a type as in source code."""
    text = kind.__name__ if isinstance(kind, type) and not hasattr(kind, "__args__") else repr(kind)
    return text.replace("str | os.PathLike[str]", "AnyPath").replace("collections.abc.", "")
