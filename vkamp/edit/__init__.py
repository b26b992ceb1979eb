"""Hand-edited shaders: the folder that keeps them with the generated ones they began as, their checks, the merge.

``store`` is the folder, ``active`` which one is in force, ``loading`` what an edit is checked for, ``merging`` the
three-way merge: of the ``units`` of shaders, which ``align`` pairs, with the ``renames`` of both sides.
"""
