"""`python -m app` is `sluice`."""

import sys

from app.cli import main

sys.exit(main())
