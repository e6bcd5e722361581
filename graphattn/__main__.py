"""`python -m graphattn` is the command line."""

from .cli import main

main()
