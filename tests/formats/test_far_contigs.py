"""Places beyond 2^29 of a contig, which BAI and TBI cannot hold: by CSI, as samtools and bcftools have it."""

import pysam
import pysam.bcftools
import pysam.samtools

from helpers.batch_samples import batches
from helpers.cohorts import block, variant, written
from helpers.fuzz_variants import bgzf
from readwarp.finish.writer import AlignmentWriter, Finish
from readwarp.formats.alignments.header import Contig, header_text
from readwarp.formats.alignments.regions import AlignedReader, ReadFilter
from readwarp.formats.alignments.sam import Encoder
from readwarp.formats.common.regions import Contigs
from readwarp.formats.variants.genomic import GenomicFile
from readwarp.formats.variants.vcf import VariantWriter
from readwarp.ragged import replace

LENGTH, START = 600_000_000, 599_990_000
REGIONS = [(0, START), (START, START + 1), (START + 2000, START + 2100), (START + 4999, LENGTH), (1 << 29, LENGTH)]


def test_alignments(tmp_path):
    """samtools finds the reads by our index, and we find them by that of samtools."""
    path, header = tmp_path / "out.bam", header_text([Contig("big", LENGTH)], "coordinate")
    with AlignmentWriter(str(path), header, Finish("coordinate", write_index=True)) as writer:
        encoder = Encoder(("big",), ("a",), text=writer.text)
        for reads, rows in batches():
            writer.write(encoder.encode(reads, replace(rows, position=rows.position + START)))
    assert sorted(file.name for file in tmp_path.iterdir()) == ["out.bam", "out.bam.csi"]
    with pysam.AlignmentFile(str(path)) as file:
        spans = [(record.reference_start, record.reference_end) for record in file.fetch(until_eof=True)]
    wanted = [sum(start < last and stop > first for start, stop in spans) for first, last in REGIONS]
    assert len(spans) == wanted[-1] == 800 and wanted[0] == 0 and all(wanted[2:])
    places = [f"big:{first + 1}-{last}" for first, last in REGIONS]
    assert [int(pysam.samtools.view("-c", str(path), place)) for place in places] == wanted
    pysam.index("-c", "-o", str(path) + ".csi", str(path))
    reader = AlignedReader(path)
    assert [len(reader.read(0, first, last, ReadFilter())) for first, last in REGIONS] == wanted
    reader.close()


def test_variants(tmp_path):
    """bcftools finds the lines by our index."""
    path, header = tmp_path / "a.vcf.gz", f"##fileformat=VCFv4.2\n##contig=<ID=big,length={LENGTH}>\n"
    places = range(START, LENGTH, 100)
    with VariantWriter(str(path), header + "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n", LENGTH) as writer:
        writer.write("".join(f"big\t{place + 1}\t.\tA\tC\t50\t.\t.\n" for place in places).encode())
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a.vcf.gz", "a.vcf.gz.csi"]
    for first, last in REGIONS:
        found = pysam.bcftools.view("-H", str(path), f"big:{first + 1}-{last}")
        assert found.count("\n") == sum(first <= place < last for place in places)


def test_genomic_variants(tmp_path):
    """We find the lines of a gVCF by the index of others."""
    lines = [block(0, START, "A", [0, 60, 700])]
    for place in range(START, LENGTH - 100, 100):
        lines.append(variant(place, "A", "C", "0/1", [200, 0, 300, 260, 310, 500], depths=[12, 8, 0], info="MQ=50"))
        lines.append(block(place + 1, place + 100, "A", [0, 60, 700]))
    path = tmp_path / "a.vcf.gz"
    path.write_bytes(bgzf(written(lines, "s", {"big": LENGTH}, "big").encode()))
    pysam.tabix_index(str(path), preset="vcf", csi=True)
    starts = [start for place in range(START, LENGTH - 100, 100) for start in (place, place + 1)]
    for first, last in REGIONS[1:]:
        file = GenomicFile(path, Contigs(["big"], [LENGTH]), {0})
        file.go_to(0, first)
        found = file.lines(0, first, last)
        positions = [int(found.fields(line)[1]) - 1 for line in range(len(found)) if found.end[line] > first]
        file.close()
        inside = [start for start in starts if first <= start < last]
        assert positions[-len(inside) :] == inside and len(positions) <= len(inside) + 1
