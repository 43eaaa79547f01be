import sys

from billhook.cli import start

if __name__ == "__main__":
    sys.exit(start())
