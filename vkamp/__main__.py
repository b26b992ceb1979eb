"""``python -m vkamp`` is the command ``vkamp``."""

import sys

from vkamp.cli import main

if __name__ == "__main__":
    sys.exit(main())
