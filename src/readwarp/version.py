"""The package's version, below everything that writes it into files: its git tag, recorded by the build."""

try:
    from readwarp._version import __version__
except ImportError:  # sources never built, on PYTHONPATH
    __version__ = "0+unbuilt"

__all__ = ["__version__"]
