"""Callable packages: `readwarp.align(...)` as well as `readwarp.align.seed`.

As soon as anything in `readwarp.align` is imported, Python sets the attribute `align` of `readwarp` to that package,
and would replace a function of the same name. So the package itself is callable, whatever is imported first. The
reasons are in docs/decisions/0005-callable-packages.md.
"""

import inspect
import sys
from importlib import import_module
from types import ModuleType
from typing import Any, Unpack, get_args, get_origin


class CallablePackage(ModuleType):
    """Package that calls the function of its own name. Everything it offers is imported on first use."""

    offers: dict[str, str]  # name -> its module
    contents: str  # the package's own docstring

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        return self.function(*arguments, **options)

    @property
    def function(self) -> Any:
        return getattr(self, self.__name__.rpartition(".")[2])

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(self.function)

    @property
    def __doc__(self) -> str:  # type: ignore[override]
        """Docstring for help(): the function's, with its options, then the package's."""
        return f"{inspect.getdoc(self.function)}\n\n{self.contents}"

    def __getattr__(self, name: str) -> Any:
        if name in self.offers:
            return documented(getattr(import_module(self.offers[name]), name))
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")

    def __reduce__(self) -> tuple[Any, ...]:  # other processes import it
        return import_module, (self.__name__,)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self.offers})


def make_callable(package: str, offers: dict[str, str]) -> None:
    """Make a package that is being imported callable. offers: names, and their modules."""
    module = sys.modules[package]
    contents = module.__doc__ or ""
    module.__class__ = CallablePackage
    assert isinstance(module, CallablePackage)
    module.offers, module.contents = offers, contents


def documented(found: Any) -> Any:
    """Return it; for a function or class with `**options: Unpack[Kind]`, add those options to help()."""
    if (inspect.isfunction(found) or inspect.isclass(found)) and "__signature__" not in vars(found):
        function = found.__init__ if inspect.isclass(found) else found
        taken = [hint for hint in getattr(function, "__annotations__", {}).values() if get_origin(hint) is Unpack]
        if taken:
            from readwarp.python.option_help import explain_options

            explain_options(found, *get_args(taken[0]))
    return found
