"""Streamlit's command line on a read-only file system: what would write fails as it does there."""

import errno
import os
import sys
from typing import Any

from streamlit.web import cli

CHANGES = {"os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.link", "os.symlink", "os.truncate", "shutil.move"}
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


def refuse(event: str, arguments: tuple[Any, ...]) -> None:
    """An audit hook: devices may be written, files may not."""
    if event == "open":
        path, _, flags = arguments
        is_file = not isinstance(path, int) and not os.fspath(path).startswith(("/dev/", "/proc/"))
        if is_file and isinstance(flags, int) and flags & WRITING:
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), path)
    elif event in CHANGES:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), arguments[0])


if __name__ == "__main__":
    sys.addaudithook(refuse)
    cli.main(prog_name="streamlit")
