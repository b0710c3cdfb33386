"""Run programs in forks of a process that has started already.

To start Python, to import what is tested and to compile for the first time takes one to two seconds: that is done once.
What runs in a fork shares nothing with the other forks, nor with the tests.
"""

from __future__ import annotations

import atexit
import functools
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent

# Reads lines: a file with a program, and a folder for what it prints. Answers with its status.
SERVER = """
import json, os, runpy, sys
import numpy, scipy.special
import planned_ad
planned_ad.compile(lambda x: x @ x, numpy.ones(2)).gradient(numpy.ones(2))
exec(os.environ.get("BEFORE_FORKS", ""))
for line in sys.stdin:
    script, folder = json.loads(line)
    child = os.fork()
    if not child:
        for number, name in enumerate(["/dev/null", f"{folder}/stdout", f"{folder}/stderr"]):
            os.dup2(os.open(name, os.O_RDWR | os.O_CREAT, 0o600), number)
        sys.argv, sys.path[0] = [script], os.path.dirname(script)
        try:
            runpy.run_path(script, run_name="__main__")
            status = 0
        except BaseException:
            import traceback
            traceback.print_exc()
            status = 1
        sys.stdout.flush(), sys.stderr.flush()
        os._exit(status)
    print(os.waitpid(child, 0)[1], flush=True)
"""


class Done(NamedTuple):
    """What became of a program."""

    status: int
    stdout: str
    stderr: str


class Server:
    """A process that runs programs in forks of itself."""

    def __init__(self, **environment: str) -> None:
        path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
        self.process = subprocess.Popen(
            [sys.executable, "-c", SERVER],
            env={**os.environ, "PYTHONPATH": path, **environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        atexit.register(self.process.communicate)  # the end of its input is its end

    def run(self, program: str, folder: Path) -> Done:
        """What `program` does, as the script `example.py` of an empty folder."""
        script = folder / "example.py"
        script.write_text(program)
        assert self.process.stdin is not None and self.process.stdout is not None
        print(json.dumps([str(script), str(folder)]), file=self.process.stdin, flush=True)
        status = int(self.process.stdout.readline())
        return Done(status, (folder / "stdout").read_text(), (folder / "stderr").read_text())


server = functools.cache(Server)
