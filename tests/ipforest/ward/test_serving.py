"""The page as it is served: to this machine alone, at an address with a token, and as a browser shows it."""

import shutil
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from wards import clinic_model

from ipforest.cli import main
from ipforest.tabular.model_files import save_model

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
ANSWERS = {"pain": "strong", "age": "70", "crp": "60", "ldl": "150"}


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_model(clinic_model(), tmp_path_factory.mktemp("clinic") / "model.skops")


def test_a_port_that_is_taken_is_told(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = str(other.getsockname()[1])
        assert main(["session", "--model", str(saved), "--serve", "--port", port]) == 2
    assert f"--port: expected a port that is free, got {port} (" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--port", "8000"], "--port: expected it with --serve only, got it without"),
        (["--serve", "--port", "70000"], "--port: expected a number 0..65535, got 70000"),
        (["--serve", "--json"], "--json: expected none with --serve, got a value; the page has it"),
        (["--serve", "--known", "age=3"], "--known: expected none with --serve, got a value; the page has it"),
        (["--serve", "--max-cost", "-1"], "max_cost: expected"),
    ],
)
def test_bad_options_are_told(
    saved: Path, options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["session", "--model", str(saved), *options]) == 2
    assert message in capsys.readouterr().err


def test_without_a_model_there_is_no_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["session", "--model", str(tmp_path / "none"), "--serve"]) == 2
    assert "--model: expected a folder of `ipforest fit` or a model file" in capsys.readouterr().err


@pytest.mark.parametrize("library", ["flask", "waitress"])
def test_the_extra_is_named_where_it_is_not_installed(
    saved: Path, library: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    assert main(["session", "--model", str(saved), "--serve"]) == 2
    assert "run pip install flask waitress" in capsys.readouterr().err


@pytest.fixture(scope="module")
def address(saved: Path) -> Iterator[str]:
    command = [sys.executable, "-m", "ipforest", "session", "--model", str(saved), "--serve"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        yield running.stdout.readline().split(" at ")[1].strip()
        running.send_signal(signal.SIGINT)
        assert running.wait(timeout=30) == 0


@pytest.mark.slow
def test_it_is_served_to_this_machine_alone(address: str) -> None:
    assert address.startswith("http://127.0.0.1:")
    with urllib.request.urlopen(address, timeout=30) as answer:
        assert b"New patient" in answer.read()
        assert "Server" not in answer.headers
    port = int(address.split(":")[2].split("/")[0])
    with pytest.raises(urllib.error.HTTPError, match="403"):
        urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=30)
    with socket.socket() as outside:
        outside.settimeout(5)
        assert outside.connect_ex(("127.0.0.2", port)) != 0


class Keyboard:
    """A user without a mouse."""

    def __init__(self, page: Any) -> None:
        self.page = page

    def focused(self) -> str:
        """Say by its label, or its text, where the focus is, which a page gives to something when it is drawn."""
        self.page.wait_for_function("document.activeElement !== document.body")
        return str(
            self.page.evaluate(
                "(e => (e.labels && e.labels.length ? e.labels[0].textContent : e.textContent).trim())"
                "(document.activeElement)"
            )
        )

    def enter(self, text: str = "") -> None:
        """Type into what has the focus, and send the form."""
        self.page.keyboard.type(text)
        is_list = self.page.evaluate("document.activeElement.tagName === 'SELECT'")
        while is_list and not self.focused().startswith("Enter result"):
            self.page.keyboard.press("Tab")
        with self.page.expect_navigation():
            self.page.keyboard.press("Enter")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if BROWSER is None:
        pytest.skip("there is no browser")
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.mark.slow
def test_the_keyboard_is_enough_and_nothing_is_loaded_from_elsewhere(
    browser: Any, address: str, tmp_path: Path
) -> None:
    page = browser.new_page(viewport={"width": 390, "height": 844})
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(address)
    keyboard = Keyboard(page)
    assert keyboard.focused() == "Name"
    keyboard.enter("Ada Lovelace")
    ordered = []
    while (label := keyboard.focused()) in ANSWERS:
        assert label in page.title()
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
        ordered.append(label)
        keyboard.enter(ANSWERS[label])
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "wider than a phone"
    patient = pd.DataFrame([ANSWERS]).astype({"age": float, "crp": float, "ldl": float})
    answer = f"Answer: {clinic_model().predict(patient)[0]}"
    assert label == answer
    assert page.locator("table.ledger tbody tr").count() == len(ordered)
    with page.expect_download() as begun:
        page.get_by_role("link", name="Save the session to a file").click()
    begun.value.save_as(tmp_path / "session.json")
    page.goto(address)
    page.get_by_label("File").set_input_files(tmp_path / "session.json")
    page.get_by_role("button", name="Go on").click()
    page.get_by_role("heading", name=answer).wait_for()
    assert all(url.startswith(address) or url.endswith("/favicon.ico") for url in asked)
    page.close()


@pytest.mark.slow
def test_no_rule_of_accessibility_is_broken(browser: Any, address: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    context = browser.new_context(bypass_csp=True)  # the checker is a script
    page = context.new_page()
    page.goto(address)
    assert axe.Axe().run(page).response["violations"] == []
    Keyboard(page).enter("Bob")
    page.get_by_role("button", name="Enter result").click()  # without a value
    page.get_by_role("alert").wait_for()
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        assert axe.Axe().run(page).response["violations"] == []
    context.close()


@pytest.mark.slow
def test_another_page_can_neither_frame_it_nor_send_its_forms(browser: Any, address: str) -> None:
    page = browser.new_page()
    page.route(
        "http://other.example/",
        lambda route: route.fulfill(
            content_type="text/html",
            body=f"<iframe src='{address}'></iframe><form method=post action='{address}patients'>"
            "<input name=name value=Eve><button>send</button></form>",
        ),
    )
    page.goto("http://other.example/")
    framed = page.frames[1]
    assert framed.get_by_text("New patient").count() == 0
    with page.expect_navigation():
        page.get_by_role("button", name="send").click()
    assert "Origin: expected a form of this page" in page.locator("body").inner_text()
    page.goto(address)
    assert page.get_by_text("Eve").count() == 0
    page.close()
