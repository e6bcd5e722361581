"""`graphattn` and `python -m graphattn` are the command line, which Ctrl-C stops from its first import on."""

import sys


def main() -> None:
    try:
        from .cli import main as command
    except KeyboardInterrupt:
        print("\ngraphattn: stopped", file=sys.stderr)
        sys.exit(130)
    command()


if __name__ == "__main__":
    main()
