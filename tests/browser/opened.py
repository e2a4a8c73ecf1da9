"""A page as a reader has it open, and everything that should not have happened meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

from playwright.sync_api import Browser, ConsoleMessage, Dialog, Page, Request

Scheme: TypeAlias = Literal["light", "dark"]

# The words that stick out farthest, outside of what scrolls by itself: only used to say what is
# wrong.
_STICKS_OUT = """() => {
    const words = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), found = [];
    while (words.nextNode()) {
        const within = document.createRange(), parent = words.currentNode.parentElement;
        within.selectNodeContents(words.currentNode);
        const right = Math.max(0, ...[...within.getClientRects()].map(box => box.right));
        let around = parent;
        while (around && getComputedStyle(around).overflowX === 'visible')
            around = around.parentElement;
        if (right > innerWidth && !around) found.push([right, parent]);
    }
    return found.sort((one, other) => other[0] - one[0]).slice(0, 3).map(([_, one]) =>
        `${one.tagName.toLowerCase()}.${one.getAttribute('class')}: `
            + one.textContent.trim().slice(0, 40));
}"""
_UNFOLD = "() => document.querySelectorAll('details').forEach(one => { one.open = true })"
_WIDER = "() => document.documentElement.scrollWidth - innerWidth"


@dataclass(frozen=True, slots=True)
class Look:
    """How wide the window is, in CSS pixels, and which colours the reader prefers."""

    width: int = 1280
    scheme: Scheme = "light"
    script: bool = True

    def __str__(self) -> str:
        return f"{self.width}-{self.scheme}{'' if self.script else '-no-script'}"


LOOKS = tuple(Look(width, scheme) for width in (1280, 390) for scheme in ("light", "dark"))


@dataclass  # without slots: Playwright notes on the object which of its methods it calls
class Opened:
    """An open page. `complaints` are script errors, what the console says (violations of the
    page's policy among it), dialogs, and requests for anything but pages of the same report."""

    page: Page
    folder: str
    complaints: list[str] = field(default_factory=list)

    def watch(self) -> None:
        """Note every complaint from now on."""
        self.page.on("pageerror", lambda error: self.complaints.append(f"script error: {error}"))
        self.page.on("console", self._said)
        self.page.on("dialog", self._asked)
        self.page.on("request", self._requested)

    def sideways(self) -> list[str]:
        """What makes the page wider than its window; empty if it is not."""
        wider = self.page.evaluate(_WIDER)
        if wider <= 0:
            return []
        return [f"{wider} px wider than the window", *self.page.evaluate(_STICKS_OUT)]

    def unfold(self) -> None:
        """Open every fold."""
        self.page.evaluate(_UNFOLD)

    def focused(self) -> str:
        """The element that has the focus: its tag, id and the beginning of its text or label."""
        said = self.page.evaluate(
            """() => { const one = document.activeElement;
                const label = one.getAttribute('aria-label') || one.textContent.trim();
                return `${one.tagName.toLowerCase()}#${one.id} ${label.slice(0, 60)}` }"""
        )
        assert isinstance(said, str)
        return said

    def _said(self, message: ConsoleMessage) -> None:
        self.complaints.append(f"console {message.type}: {message.text[:300]}")

    def _asked(self, dialog: Dialog) -> None:
        self.complaints.append(f"dialog: {dialog.message[:300]}")
        dialog.dismiss()

    def _requested(self, request: Request) -> None:
        own = request.is_navigation_request() and request.url.startswith(self.folder)
        if not own:
            self.complaints.append(f"request: {request.url[:300]}")


@contextmanager
def opened(
    browser: Browser, path: Path, look: Look = Look(), fragment: str = ""
) -> Iterator[Opened]:
    """Open a file of a report in a window of its own.

    A report's folder is where its `index.html` is: also a page of one flow may lead to all of it.
    """
    folder = path.parent.parent if path.parent.name == "flows" else path.parent
    context = browser.new_context(
        viewport={"width": look.width, "height": 900},
        color_scheme=look.scheme,
        java_script_enabled=look.script,
        reduced_motion="reduce",
    )
    try:
        one = Opened(context.new_page(), f"{folder.as_uri()}/")
        one.page.set_default_timeout(10_000)
        one.watch()
        one.page.goto(path.as_uri() + fragment)
        yield one
    finally:
        context.close()
