"""`python -m vancetope`: the same as the command."""

from vancetope.cli import main

if __name__ == "__main__":
    main()
