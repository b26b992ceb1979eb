"""Proves that a kernel has no races between the threads of a tile, or finds one, by running it for all of them
together."""
