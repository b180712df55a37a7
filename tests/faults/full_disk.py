"""Streamlit's command line on a machine whose disk is full: no file takes another byte.

The log goes to a device, as it does in a container; a server whose log is a file on the full disk does not start.
"""

import os
import resource
import signal

from streamlit.web import cli

if __name__ == "__main__":
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # a write then fails with an error instead of ending the process
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    cli.main(prog_name="streamlit")
