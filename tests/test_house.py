"""The figures of benchmarks/house.py stay at their limits, which only fall."""

import runpy
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LIMITS = {
    "lines of src": 65_640,
    "shared class names": 0,
    "leaning docstrings": 0,
    "parallel assignments": 3,
    "rooms of call": 7,
    "stray modules": 5,
    "complex functions": 0,
    "lines of batches.py": 0,
}


def test_the_house_keeps_its_figures():
    house = runpy.run_path(str(ROOT / "benchmarks" / "house.py"))
    figures = house["figures_of"](ROOT / "src")
    assert figures.keys() == LIMITS.keys() == house["BARS"].keys()
    assert {name: number for name, number in figures.items() if number > LIMITS[name]} == {}
