"""A second oracle: kernels as plain Python, which CPython executes on numbers that compute as in C. It uses nothing of
vkamp's compiler: ``ast`` parses the source, a few calls are inserted (``source.py``), and it runs in a module whose
``amp`` is a substitute (``language.py``). The threads of a tile are Python threads that alternate at barriers
(``threads.py``).
"""
