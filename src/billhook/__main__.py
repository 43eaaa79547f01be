import sys

from billhook.cli import main

sys.exit(main())
