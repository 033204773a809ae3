"""Makes the README's pictures: serves the dashboard, looks at it, saves docs/images/*.png."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any, NamedTuple

from playwright.sync_api import sync_playwright

REPO = Path(__file__).resolve().parent.parent
IMAGES = REPO / "docs" / "images"


class Shot(NamedTuple):
    """One picture."""

    name: str
    query: str
    width: int = 1440
    height: int = 900


SHOTS = (
    Shot("explorer-light", "model=deepseek-ai/DeepSeek-V3.2&hardware=b200"),
    Shot(
        "explorer-dark",
        "model=baidu/ERNIE-5.5-Flash&hardware=gb200&preset=gb200_low_latency&theme=dark",
    ),
    Shot("cluster-light", "model=deepseek-ai/DeepSeek-V3.2&hardware=h200&strategy=pd_cluster"),
    Shot("fit-dark", "model=openai/gpt-oss-120b&hardware=h100&tab=fit&theme=dark", 1440, 1300),
    Shot(
        "compare-light",
        "model=deepseek-ai/DeepSeek-V3.2&hardware=b200&tab=compare"
        "&compare=deepseek-ai/DeepSeek-V3.2%3Fhardware%3Dh200%3B"
        "deepseek-ai/DeepSeek-V3.2%3Fhardware%3Dh200%26strategy%3Dsingle_node_dep",
        1440,
        1300,
    ),
    Shot("phone-light", "model=openai/gpt-oss-120b&hardware=h100", 390, 844),
    Shot("phone-dark", "model=openai/gpt-oss-120b&hardware=h100&theme=dark", 390, 844),
)


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def wait_for(url: str) -> None:
    for _ in range(200):
        try:
            urllib.request.urlopen(url, timeout=5).close()
        except urllib.error.HTTPError:
            return
        except OSError:
            time.sleep(0.3)
        else:
            return
    raise SystemExit("the dashboard did not start")


def take(browser: Any, base: str, shot: Shot) -> None:
    page = browser.new_page(viewport={"width": shot.width, "height": shot.height})
    page.goto(f"{base}/?{shot.query}", wait_until="commit")
    page.wait_for_selector(".rx-command .rx-code", timeout=60_000)
    page.wait_for_selector(".rx-axis-variant .rx-hint", state="attached")
    page.wait_for_timeout(1500)
    page.screenshot(path=IMAGES / f"{shot.name}.png")
    page.close()
    print(IMAGES / f"{shot.name}.png")


def main() -> None:
    """Serve, look, save."""
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium")
    if not chromium:
        raise SystemExit("no chromium: apt-get install chromium, or set $CHROMIUM")
    IMAGES.mkdir(parents=True, exist_ok=True)
    port = free_port()
    base = f"http://127.0.0.1:{port}"
    command = [sys.executable, "-m", "recipes_core.cli", "dashboard", "--no-browser",
               "--port", str(port), "--catalog", "builtin"]  # fmt: skip
    server = subprocess.Popen(
        command, cwd=REPO, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        wait_for(f"{base}/voila/static/")
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            for shot in SHOTS:
                take(browser, base, shot)
            browser.close()
    finally:
        server.terminate()
        server.wait(20)


if __name__ == "__main__":
    main()
