"""`python -m limelight`: the command line."""

from limelight._cli import main

if __name__ == "__main__":
    main()
