"""linkchecker, a program of others, walks a served site and finds no dead link."""

from __future__ import annotations

import functools
import http.server
import shutil
import subprocess
import tempfile
import threading
from pathlib import Path

import pytest

from recipes_core.publish.contents import Options
from recipes_core.publish.export import export
from tests.publish.conftest import some
from tests.publish.test_vllm_converter import Quiet

PROGRAM = shutil.which("linkchecker")


@pytest.mark.slow
@pytest.mark.skipif(PROGRAM is None, reason="linkchecker is not installed")
def test_linkchecker_finds_no_dead_link(few, tmp_path):
    folder = tmp_path / "site"
    chosen = some(few, "Qwen/Qwen-Image")
    export(chosen, folder, Options(facts=False), jobs=1)
    with tempfile.NamedTemporaryFile("w", suffix=".ini", delete=False) as settings:
        settings.write("[checking]\nmaxrequestspersecond=10000\n")
    # As root it becomes nobody, who has to read this too.
    Path(settings.name).chmod(0o644)
    handler = functools.partial(Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        done = subprocess.run(
            [
                str(PROGRAM), f"--config={settings.name}", "--no-status", "--no-warnings",
                "--no-robots", "--threads=8", "--recursion-level=2",
                f"http://127.0.0.1:{server.server_address[1]}/index.html",
            ],
            capture_output=True, text=True, timeout=300, check=False, cwd=tmp_path,
            env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"},
        )  # fmt: skip
        server.shutdown()
        thread.join()
    Path(settings.name).unlink()
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]
    assert " 0 errors found" in done.stdout
