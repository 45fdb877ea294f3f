"""`python -m tinyton_lab` is the `tinyton` command."""

from __future__ import annotations

import sys

from tinyton_lab.cli import main

sys.exit(main())
