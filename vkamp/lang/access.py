"""How the host may touch a container: ``access_type`` and its values under AMP's names."""

from __future__ import annotations

from enum import IntFlag


class access_type(IntFlag):
    """Flags of host access (AMP: ``access_type``); ``read_write`` is ``read | write``."""

    none = 0
    read = 1
    write = 2
    read_write = 3
    auto = 1 << 31


access_type_none = access_type.none
access_type_read = access_type.read
access_type_write = access_type.write
access_type_read_write = access_type.read_write
access_type_auto = access_type.auto
