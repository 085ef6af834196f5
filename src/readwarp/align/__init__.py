"""Reads to alignment records: one folder per step, in the order data meets them.

    seed -> chain -> pair (plan) -> extend (score) -> pair (rescue) -> extend (score) -> extend (trace) -> records
"""
