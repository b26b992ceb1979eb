"""Tables of small programs that are run whole against numpy: operators on all types, barriers in tiles of all sizes."""
