"""`python -m graphattn` and `graphattn` are the command line, which Ctrl-C stops in one sentence from the
first import on."""

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
