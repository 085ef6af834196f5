"""report: one page of HTML on one sample or several, and the texts of samtools and bcftools that it is made from.

`statistics.make` makes the texts, `page.write` the page of them.
"""
