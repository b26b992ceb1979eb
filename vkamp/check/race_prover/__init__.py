"""Proves a kernel free of races between the threads of a tile, or finds one, by running it for all of them at once."""
