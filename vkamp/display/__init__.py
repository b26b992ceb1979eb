"""HTML for notebooks and pictures of tilings, from plain data; nothing here reaches a device."""
