"""Random well-typed kernels, run on several accelerators whose results must agree: ``python -m tools.fuzz``."""
