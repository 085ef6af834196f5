"""Confidence: how sure it is that a position without a call carries the reference's base alone (gVCF)."""
