"""The version of the package, below all that writes it into files."""

__version__ = "0.1.0"
