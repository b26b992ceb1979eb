"""Hand-edited shaders: the folder that stores them with the generated shaders they are based on, their checks, the
merge.

``store`` is the folder, ``active`` selects the folder in force, ``loading`` checks an edit, and ``merging`` is the
three-way merge of the ``units`` of shaders, which ``align`` pairs, with the ``renames`` of both sides.
"""
