"""Analyses of the IR: which barriers all threads of a tile reach, which stores certainly race."""
