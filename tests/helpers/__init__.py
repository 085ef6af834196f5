"""What several tests share: inputs, plain Python to compare with, and checks of outputs."""
