"""Batches in order through workers and devices, in memory that was planned beforehand."""
