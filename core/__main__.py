"""`python -m core`: see `core.cli`. A catalog that cannot be used ends it with 1 and one sentence."""

import sys

from core.catalog import CatalogError


def main() -> int:
    """Run the command line."""
    try:
        from core import cli  # noqa: PLC0415 - importing it reads the catalog

        return cli.main()
    except CatalogError as error:
        print(error, file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
