"""A second oracle: kernels as plain Python, executed by CPython over numbers that compute as C does.

Nothing of vkamp's compiler takes part: the source is read by ``ast``, a few things are marked in it (``source.py``),
and it runs in a module whose ``amp`` is a stand-in (``language.py``).  The threads of a tile are threads of Python that
take turns at barriers (``threads.py``).
"""
