"""`python -m memoranda.cli`."""

from memoranda.cli import main

main()
