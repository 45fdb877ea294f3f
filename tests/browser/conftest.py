"""A real JupyterLab and a real Chromium; every page must stay on its own server and keep its console clean."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbformat import NotebookNode
from nbformat.sign import NotebookNotary

ROOT = Path(__file__).parents[2]
CHROMIUM = os.environ.get("TINYTON_CHROMIUM") or shutil.which("chromium")
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
PATIENCE_MS = 60_000
SERVER_SECONDS = 120
SCREENSHOTS = os.environ.get("TINYTON_SCREENSHOTS")


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    if not CHROMIUM:
        pytest.skip("no chromium")
    if not (ROOT / "tinyton_lab" / "labextension" / "package.json").is_file():
        pytest.skip("no chromium can show a front end that is not built (no Node.js)")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield running
        running.close()


class Lab:
    """A JupyterLab server on a folder of its own, with the extension of this checkout."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.root, self.data = folder, folder / "root", folder / "data"
        self.root.mkdir()
        (self.data / "labextensions").mkdir(parents=True)
        (self.data / "labextensions" / "jupyterlab-tinyton").symlink_to(ROOT / "tinyton_lab" / "labextension")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"

    def start(self) -> subprocess.Popen[bytes]:
        quiet = self.folder / "config" / "labconfig"
        quiet.mkdir(parents=True)
        news = {"disabledExtensions": {"@jupyterlab/apputils-extension:announcements": True}}
        (quiet / "page_config.json").write_text(json.dumps(news))
        options = ["--ServerApp.port_retries=0", "--IdentityProvider.token=", "--ServerApp.password="]
        options += [f"--ServerApp.root_dir={self.root}", "--LabApp.expose_app_in_browser=True"]
        options += ["--LabApp.extension_manager=readonly", f"--port={self.port}", "--ip=127.0.0.1"]
        command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", *options]
        with (self.folder / "lab.log").open("wb") as log:
            process = subprocess.Popen(command, env=self.environment(), stdout=log, stderr=subprocess.STDOUT)
        self._wait(process)
        return process

    def environment(self) -> dict[str, str]:
        folders = {
            "HOME": "", "JUPYTER_CONFIG_DIR": "config", "JUPYTER_DATA_DIR": "data", "JUPYTER_RUNTIME_DIR": "runtime",
            "IPYTHONDIR": "ipython", "JUPYTERLAB_SETTINGS_DIR": "settings", "JUPYTERLAB_WORKSPACES_DIR": "workspaces",
        }  # fmt: skip
        places = {name: str(self.folder / part) for name, part in folders.items()}
        return dict(os.environ, PYTHONPATH=str(ROOT), **places)

    def store(self, name: str, notebook: NotebookNode, trusted: bool = False) -> None:
        """Put a notebook where the server finds it; only a trusted one may run what its outputs hold."""
        if trusted:
            NotebookNotary(data_dir=str(self.data)).sign(notebook)
        nbformat.write(notebook, self.root / name)

    def _wait(self, process: subprocess.Popen[bytes]) -> None:
        deadline = time.monotonic() + SERVER_SECONDS
        while True:
            try:
                urllib.request.urlopen(self.url + "/api/status", timeout=2).close()
                return
            except OSError:
                if process.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError((self.folder / "lab.log").read_text()[-3000:]) from None
                time.sleep(0.1)


@pytest.fixture(scope="session")
def lab(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    server = Lab(tmp_path_factory.mktemp("lab"))
    process = server.start()
    yield server
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


@pytest.fixture
def page(browser: Any, request: pytest.FixtureRequest) -> Iterator[Any]:
    """An empty page; afterwards it must have asked no other host and logged no error."""
    scheme = getattr(request, "param", "light")
    context = browser.new_context(viewport={"width": 1280, "height": 860}, color_scheme=scheme)
    page = context.new_page()
    page.set_default_timeout(PATIENCE_MS)
    errors: list[str] = []
    foreign: list[str] = []
    page.on("pageerror", lambda fault: errors.append(str(fault)))
    page.on("console", lambda line: errors.append(line.text) if line.type == "error" else None)
    own = ("http://127.0.0.1:", "ws://127.0.0.1:", "file:", "data:", "blob:")
    page.on("request", lambda asked: None if asked.url.startswith(own) else foreign.append(asked.url))
    yield page
    if SCREENSHOTS:
        page.screenshot(path=Path(SCREENSHOTS) / f"{request.node.name}.png")
    dialogs = page.locator(".jp-Dialog").all_inner_texts()
    context.close()
    assert errors == [] and foreign == [] and dialogs == []


@pytest.fixture
def open_notebook(lab: Lab, page: Any) -> Callable[..., Any]:
    """Open a notebook of the server; run its cells if asked to."""

    def open_(name: str, run: bool = False) -> Any:
        page.goto(f"{lab.url}/lab/tree/{name}?reset", wait_until="domcontentloaded")
        page.wait_for_function("window.jupyterapp && document.querySelector('.jp-Notebook')")
        page.evaluate(
            """async () => {
            await window.jupyterapp.restored;
            const notebook = window.jupyterapp.shell.currentWidget;
            await notebook.context.ready;
            if (RUN) await notebook.sessionContext.ready;
        }""".replace("RUN", str(run).lower())
        )
        if run:
            assert page.evaluate("() => window.jupyterapp.commands.execute('notebook:run-all-cells')")
        return page

    return open_
