"""Runs ``python -m tinyton_lab.reference``: write the generated files again."""

from __future__ import annotations

import sys

from tinyton_lab.reference.regenerate import main

sys.exit(main())
