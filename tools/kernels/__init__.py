"""Kernels that both the tests and the tools run."""
