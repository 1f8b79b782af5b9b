"""``python -m fitcarl``: the command line where the console script is not on the path."""

from fitcarl.cli import main

if __name__ == "__main__":
    main()
