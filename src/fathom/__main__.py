"""`python -m fathom` is the `fathom` command."""

from fathom.cli.app import main

main()
