"""Run the <test>s of Galaxy tools without a Galaxy: galaxy_tests.py TOOL.xml ...

Galaxy's own libraries (planemo brings them) read the tool, fill the command's template and check the assertions on its
outputs. Only what a server does in between is here: parameters with their defaults, and datasets in a job's folder.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import pysam
from galaxy.tool_util.parser import get_tool_source
from galaxy.tool_util.verify import verify
from galaxy.util.template import fill_template
from galaxy.util.xml_macros import load


class Namespace(dict):
    """A conditional or section: its parameters as attributes."""

    __getattr__ = dict.__getitem__


class Dataset:
    def __init__(self, path: Path, extension: str, name: str):
        self.path, self.ext, self.name = path, extension, name
        self.element_identifier = name

    def __str__(self) -> str:
        return str(self.path)

    def is_of_type(self, kind: str) -> bool:
        family, _, packing = kind.partition(".")
        return self.ext.startswith(family) and self.ext.endswith(".gz") == (packing == "gz")

    @property
    def metadata(self) -> Namespace:
        """The index that a server makes when the file is uploaded."""
        if self.ext == "bam":
            pysam.index(str(self.path))
            return Namespace(bam_index=f"{self.path}.bai")
        return Namespace(tabix_index=pysam.tabix_index(str(self.path), preset="vcf", force=True) + ".tbi")


def dataset(value: str, extension: str, data: Path, folder: Path) -> Dataset:
    copy = folder / f"dataset_{len(list(folder.iterdir()))}.{extension}"
    copy.write_bytes((data / value).read_bytes())
    return Dataset(copy, extension, value)


def read_value(element, given, data: Path, folder: Path):
    """The value of a <param>: that of the test, or its default."""
    kind = element.get("type")
    if kind == "data_collection":
        collection = given["attributes"]["collection"]
        pair = {part["element_identifier"]: part["element_definition"] for part in collection["elements"]}
        parts = {key: dataset(part["value"], part["attributes"]["ftype"], data, folder) for key, part in pair.items()}
        return Namespace(parts, name=collection["name"])
    if kind == "data":
        if given is None:
            return None
        files = [dataset(name, given["attributes"]["ftype"], data, folder) for name in given["value"].split(",")]
        return files if element.get("multiple") == "true" else files[0]
    if kind == "boolean":
        checked = given["value"] if given else element.get("checked", "false")
        return element.get("truevalue") if checked == "true" else element.get("falsevalue")
    if given:
        return given["value"]
    if kind == "select":
        options = element.findall("option")
        return next((option.get("value") for option in options if option.get("selected")), options[0].get("value"))
    return element.get("value", "")


def read_inputs(parent, given: dict, data: Path, folder: Path, prefix: str = "") -> Namespace:
    values = Namespace()
    for element in parent:
        name = element.get("name") or (element.get("argument") or "").lstrip("-").replace("-", "_")
        if element.tag == "param":
            values[name] = read_value(element, given.get(prefix + name), data, folder)
        elif element.tag == "section":
            values[name] = read_inputs(element, given, data, folder, f"{prefix}{name}|")
        elif element.tag == "conditional":
            inside = f"{prefix}{name}|"
            values[name] = read_inputs(element.findall("param"), given, data, folder, inside)
            (chosen,) = values[name].values()
            when = next(when for when in element.findall("when") if when.get("value") == chosen)
            values[name] |= read_inputs(when, given, data, folder, inside)
    return values


def run_test(tool: Path, test: dict) -> None:
    """Raises AssertionError with the reason if a test fails."""
    source, root = get_tool_source(str(tool)), load(str(tool)).getroot()
    with tempfile.TemporaryDirectory() as scratch:
        uploads, work = Path(scratch) / "uploads", Path(scratch) / "work"
        uploads.mkdir()
        work.mkdir()
        given = {each["name"]: each for each in test["inputs"]}
        values = read_inputs(root.find("inputs"), given, tool.parent / "test-data", uploads)
        outputs = {each.get("name"): each for each in root.find("outputs")}
        values |= {name: str(work / f"{name}.out") for name in outputs}
        command = fill_template(source.parse_command(), context=values, python_template_version="3.7")
        done = subprocess.run(["bash", "-c", command.replace("\n", " ")], cwd=work, text=True, capture_output=True)
        assert done.returncode == 0, f"{command}\n{done.stderr}"
        assert len(outputs) == int(test["expect_num_outputs"])
        for output in test["outputs"]:
            made = work / (outputs[output["name"]].get("from_work_dir") or f"{output['name']}.out")
            verify(output["name"], made.read_bytes(), output["attributes"], filename=None)


def main() -> None:
    passed = 0
    for tool in map(Path, sys.argv[1:]):
        for number, test in enumerate(get_tool_source(str(tool)).parse_tests_to_dict()["tests"]):
            try:
                run_test(tool, test)
            except AssertionError as error:
                sys.exit(f"{tool.name}: test {number + 1}: {error}")
            passed += 1
    print(f"{passed} passed")


if __name__ == "__main__":
    main()
