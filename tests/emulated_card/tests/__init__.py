"""Tests of the emulated card, and what they share. They need nothing but the card: see ../README.md."""
