"""A real Chromium, driven by Playwright: what the tests of behaviour share."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from conftest import WEB, needed

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), "")
ARGUMENTS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
]  # fmt: skip
AXE = WEB / "node_modules" / "axe-core" / "axe.min.js"


class Reader:
    """Someone who reads a page: everything that the browser reports is kept."""

    def __init__(self, browser: Any) -> None:
        self.browser = browser
        self.complaints: list[str] = []
        self.requests: list[str] = []

    @contextmanager
    def reading(self, path: Path, link: str = "", **options: Any) -> Iterator[Any]:
        """The page of a file, opened from disk; at the end, nothing may have been complained of."""
        options = {"viewport": {"width": 1280, "height": 860}, "reduced_motion": "reduce", **options}
        context = self.browser.new_context(accept_downloads=True, **options)
        page = context.new_page()
        page.set_default_timeout(10_000)
        page.on("console", lambda m: self.complaints.append(m.text) if m.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", lambda request: self.requests.append(request.url))
        page.add_init_script(
            "addEventListener('securitypolicyviolation', (e) => console.error('policy', e.violatedDirective))"
        )
        page.goto(path.resolve().as_uri() + link)
        if options.get("java_script_enabled", True):
            page.wait_for_selector("html[data-ready]", state="attached")
        try:
            yield page
            assert self.complaints == []
            foreign = [url for url in self.requests if not url.startswith(("file:", "blob:", "about:"))]
            assert foreign == [] and sum(url.startswith("file:") for url in self.requests) == 1
        finally:
            self.complaints.clear()
            self.requests.clear()
            context.close()


def launched() -> Iterator[Reader]:
    """A browser, where there is one."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        sync_playwright = None
    needed("playwright (pip install 'graphattn[test]')", sync_playwright)
    needed("chromium (apt-get install chromium)", CHROMIUM)
    assert sync_playwright is not None
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield Reader(browser)
        browser.close()


def box(page: Any, name: str) -> Any:
    """The box of a node or scope in the diagram."""
    return page.locator(f'.box[data-name="{name}"]').first


def cell(page: Any, at: int) -> Any:
    """A cell of the tensor that is chosen, by its flat place."""
    return page.locator(".maps > .map").first.locator(f'[data-at="{at}"]')


def formula(page: Any) -> list[str]:
    """The lines of the formula, as one reads them."""
    return [" ".join(line.split()) for line in page.locator(".formula > p:not(.remark)").all_inner_texts()]


def violations(page: Any, *rules: str) -> list[str]:
    """What axe-core finds, by some of its rules or all; the page must have been opened with bypass_csp."""
    needed("axe-core (npm ci in web/)", AXE.is_file())
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE.read_text(encoding="utf-8"))
    only = {"runOnly": {"type": "rule", "values": list(rules)}} if rules else {}
    found = page.evaluate("(more) => axe.run(document, {resultTypes: ['violations'], ...more})", only)
    return [
        f"{v['id']}: {v['help']}: {v['nodes'][0]['html'][:160]}" for v in found["violations"]
    ]  # fmt: skip
