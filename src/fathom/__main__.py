"""`python -m fathom` is the `fathom` command."""

from fathom.cli import stopping


def run() -> None:
    """The command; signals are answered before anything slow is loaded."""
    stopping.at_once()
    from fathom.cli.app import main

    main()


if __name__ == "__main__":
    run()
