import sys

from rungs_report.cli import main

sys.exit(main())
