"""Folders of kernels that a test has of its own."""

from readwarp.compiler import cache_folders, kernel_cache, trust


def forget_folders() -> None:
    """The next use of the kernel cache looks at the environment and the disk again."""
    for module in (cache_folders, kernel_cache, trust):
        for function in vars(module).values():
            if hasattr(function, "cache_clear"):
                function.cache_clear()
