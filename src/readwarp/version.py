"""The version of the package, below all that writes it into files: its git tag, written down when it was built."""

try:
    from readwarp._version import __version__
except ImportError:  # sources that were never built, on PYTHONPATH
    __version__ = "0+unbuilt"

__all__ = ["__version__"]
