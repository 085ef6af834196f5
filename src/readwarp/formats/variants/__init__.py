"""Variants: VCF and BCF out (`vcf.py`, `gvcf.py`), and genomic VCF back in (`genomic.py`)."""
