"""Packages that can be called like a function: `readwarp.align(...)`, beside modules in them: `readwarp.align.seed`.

Python sets a package's attribute `align` to the module whenever anything in `readwarp.align` is imported, so a function
of that name would last until then. Here the package itself is what is called, whatever was imported first. Why it is
so: docs/decisions/0005-callable-packages.md.
"""

import inspect
import sys
from importlib import import_module
from types import ModuleType
from typing import Any


class CallablePackage(ModuleType):
    """Calls the function that has its own name; that, and all else it offers, is imported on first use."""

    offers: dict[str, str]  # name -> the module that has it

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        return self.function(*arguments, **options)

    @property
    def function(self) -> Any:
        return getattr(self, self.__name__.rpartition(".")[2])

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(self.function)

    def __getattr__(self, name: str) -> Any:
        if name in self.offers:
            return getattr(import_module(self.offers[name]), name)
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self.offers})


def make_callable(package: str, offers: dict[str, str]) -> None:
    """The package, which is being imported, can be called, and has these names of other modules."""
    module = sys.modules[package]
    module.__class__ = CallablePackage
    assert isinstance(module, CallablePackage)
    module.offers = offers
