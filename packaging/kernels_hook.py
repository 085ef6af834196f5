"""Compiled kernels inside a wheel: READWARP_LEVELS="x86-64-v3 x86-64-v4" python -m build --wheel

Without READWARP_LEVELS the wheel is the usual one, for all machines. With it, the wheel is for this version of Python
and this kind of machine, and asks for the versions of Numba and llvmlite that the kernels were made with.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from importlib.metadata import version
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class KernelsHook(BuildHookInterface):
    """Called by hatchling: before a wheel is built, and after it."""

    def dependencies(self) -> list[str]:
        """What has to be installed to compile: what the package itself needs."""
        if not os.environ.get("READWARP_LEVELS"):
            return []
        return list(tomllib.loads((Path(self.root) / "pyproject.toml").read_text())["project"]["dependencies"])

    def initialize(self, kind: str, build_data: dict[str, Any]) -> None:
        levels = os.environ.get("READWARP_LEVELS", "").split()
        if not levels or kind == "editable":
            return
        self.folder = tempfile.mkdtemp(prefix="readwarp-")
        command = [sys.executable, "-m", "readwarp", "compile", "-o", self.folder]
        for level in levels:
            command += ["--level", level]
        subprocess.run(command, env=os.environ | {"PYTHONPATH": str(Path(self.root) / "src")}, check=True)
        python = f"cp{sys.version_info.major}{sys.version_info.minor}"
        build_data["tag"] = f"{python}-{python}-linux_{os.uname().machine}"
        build_data["pure_python"] = False
        build_data["force_include"][self.folder] = "readwarp/kernels"
        build_data["dependencies"] += [f"{name}=={version(name)}" for name in ("numba", "llvmlite")]

    def finalize(self, *_: Any) -> None:
        if hasattr(self, "folder"):
            shutil.rmtree(self.folder)
