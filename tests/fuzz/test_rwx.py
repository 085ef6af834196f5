"""Mutated indexes of references (.rwx) given to align and call, with checksums that are wrong, and with right ones."""

import hashlib
import json
import struct

import numpy as np
import pytest
from isal import isal_zlib

from helpers.command_samples import CONTIGS, fasta, pairs, record
from helpers.fuzzing import Case, campaign
from readwarp.formats.common.index_file import (
    BLOCK,
    PREFIX,
    VERSION,
    WIDE_VERSION,
    align_up,
    described_dtypes,
    places_of,
)

NAMES = (".", "", "a\tb", "a\nb", "é", "x" * 300, "two", None, 5, [], {}, "a/b", "*", "\x00", "ref \"'", True)
NUMBERS = (0, -1, 1, 2, 5999, 6001, 1 << 31, 1 << 32, 1 << 63, 1 << 70, 1.5, "6000", None, [], {}, True, float("nan"))


def make(folder, server):
    """A reference, its index, pairs, their alignments, SAM and VCF."""
    (folder / "ref.fa").write_text(fasta(CONTIGS))
    reads = [(name, *(record(f"{name}/{mate}", own[mate - 1]) for mate in (1, 2))) for name, *own in pairs(40)]
    for mate in (1, 2):
        (folder / f"r_{mate}.fq").write_text("".join(read[mate] for read in reads))
    align = ["align", "ref.fa.rwx", "r_1.fq", "r_2.fq", "-q", "--no-pg"]
    server.warm_up(folder, ["index", "ref.fa", "-q"])
    server.warm_up(folder, [*align, "-o", "e.sam"])
    server.warm_up(folder, [*align, "-o", "in.bam", "--sort", "coordinate", "--write-index"])
    server.warm_up(folder, ["call", "ref.fa.rwx", "in.bam", "-o", "e.vcf", "-q"])
    return folder


@pytest.fixture(scope="session")
def made(tmp_path_factory, server):
    return make(tmp_path_factory.mktemp("rwx"), server)


@pytest.fixture(scope="session")
def checked(tmp_path_factory, checking_server):
    return make(tmp_path_factory.mktemp("rwx"), checking_server)


def repack(description, arrays):
    """An index file whose checksums are right."""
    description["checksums"] = {
        name: [isal_zlib.crc32(data[i : i + BLOCK]) for i in range(0, len(data), BLOCK)]
        for name, data in arrays.items()
    }
    return assemble(json.dumps(description).encode(), arrays, WIDE_VERSION if "wide" in description else VERSION)


def assemble(text, arrays, version):
    out = PREFIX.pack(b"readwarp", version, len(text), hashlib.sha256(text).digest()) + text
    for data in arrays.values():
        out += bytes(align_up(len(out)) - len(out)) + data
    return out + bytes(align_up(len(out)) - len(out))


def parts_of(data):
    (length,) = struct.unpack_from("<I", data, 12)
    description = json.loads(data[PREFIX.size : PREFIX.size + length])
    sizes, start = description["sizes"], align_up(PREFIX.size + length)
    arrays = {}
    dtypes = described_dtypes(description)
    for (name, kind), place in zip(dtypes.items(), places_of(sizes, dtypes), strict=False):
        arrays[name] = data[start + place :][: sizes[name] * np.dtype(kind).itemsize]
    return description, arrays


def widened(data):
    """The same index with the arrays of a large reference."""
    description, arrays = parts_of(data)
    description["wide"] = ["bucket_starts", "positions"]
    for name in description["wide"]:
        arrays[name] = np.frombuffer(arrays[name], np.uint32).astype(np.uint64).tobytes()
    return repack(description, arrays)


def change_description(chance, facts):
    how = chance.choice([*facts, *facts, "other"])
    if chance.random() < 0.2:
        facts[how] = chance.choice((None, [], {}, 0, "x", [None], [1, 2], {"k": 1}))
    elif chance.random() < 0.1:
        facts.pop(how, None)
    elif isinstance(facts.get(how), list):
        values = facts[how]
        place = chance.randrange(len(values))
        values[place] = chance.choice(NUMBERS if how == "lengths" else NAMES)
        if chance.random() < 0.2:
            values.append(values[0])
    elif isinstance(facts.get(how), dict):
        key = chance.choice(list(facts[how]))
        own = facts[how][key]
        if isinstance(own, int):
            facts[how][key] = own + chance.choice((1, -1, 2, 16)) if chance.random() < 0.5 else chance.choice(NUMBERS)
        else:
            facts[how][key] = chance.choice(NUMBERS)


def change_array(chance, arrays, dtypes):
    name = chance.choice(list(arrays))
    array = np.frombuffer(arrays[name], dtypes[name]).copy()
    for _ in range(chance.choice((1, 1, 3))):
        array[chance.randrange(array.size)] = chance.integer() & int(np.iinfo(array.dtype).max)
    arrays[name] = array.tobytes()
    return name


def mutate(chance, data):
    how = chance.choice(("bytes", "text", "facts", "facts", "facts", "array", "array", "spread"))
    if how == "bytes":
        return how, chance.bytes(data)
    if how == "spread":  # no damage escapes
        out = bytearray(data)
        out[chance.randrange(len(out))] ^= 1 << chance.randrange(8)
        return how, bytes(out)
    (description, arrays), version = parts_of(data), data[8]
    if how == "text":
        return how, assemble(chance.bytes(json.dumps(description).encode()), arrays, version)
    if how == "array":
        name = change_array(chance, arrays, described_dtypes(description))
        return f"array {name}", repack(description, arrays)
    change_description(chance, description)
    return how, assemble(json.dumps(description).encode(), arrays, version)


def campaign_of(pytestconfig, server, made, tmp_path, name, share=1.0):
    narrow = (made / "ref.fa.rwx").read_bytes()
    wide = widened(narrow)

    def make_case(chance):
        how, content = mutate(chance, chance.choice((narrow, narrow, wide)))
        index = "ref.fa.rwx"
        files = {index: content}
        if chance.random() < 0.25:
            files |= {"ref.fa": made / "ref.fa"}
        given = "ref.fa" if "ref.fa" in files else index
        if chance.random() < 0.7:
            files |= {name: made / name for name in ("r_1.fq", "r_2.fq")} | {"expected.sam": made / "e.sam"}
            arguments = ["align", given, "r_1.fq", "r_2.fq", "-o", "o.sam", "-q", "--no-pg"]
            checks = [("helpers.fuzz_checks:alignments", ["o.sam"])]
            if how in ("bytes", "spread"):
                checks.append(("helpers.fuzz_checks:same_records", ["o.sam", "expected.sam"]))
        else:
            files |= {name: made / name for name in ("in.bam", "in.bam.bai")} | {"expected.vcf": made / "e.vcf"}
            arguments = ["call", given, "in.bam", "-o", "o.vcf", "-q"]
            checks = [("helpers.fuzz_checks:variants", ["o.vcf"])]
        damaged = index if arguments[0] == "align" or how in ("bytes", "spread") else None
        return Case(how, files, arguments, damaged=damaged, checks=checks)

    campaign(pytestconfig, server, tmp_path, name, make_case, share)


@pytest.mark.slow
def test_rwx(pytestconfig, server, made, tmp_path):
    campaign_of(pytestconfig, server, made, tmp_path, "rwx")


@pytest.mark.slow
@pytest.mark.xdist_group("bounds")  # one server compiles for all of them
def test_rwx_within_bounds(pytestconfig, checking_server, checked, tmp_path):
    campaign_of(pytestconfig, checking_server, checked, tmp_path, "rwx-bounds", 0.2)
