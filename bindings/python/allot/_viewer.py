# SPDX-License-Identifier: BSL-1.0
"""Pages of the memory viewer, whole and in a notebook."""

from __future__ import annotations

import html as _html
from importlib.resources import files
from typing import Protocol


class Shown(Protocol):
    """What the viewer draws: a snapshot or an event log."""

    def _page(self, library: str, title: str) -> str: ...


def _library() -> str | None:
    """Returns the plotting library, which is a file of the package plotly, or None if that is not installed."""
    try:
        return (files("plotly") / "package_data" / "plotly.min.js").read_text(encoding="utf-8")
    except (ModuleNotFoundError, FileNotFoundError):
        return None


def html(shown: Shown, title: str) -> str:
    """Returns a complete page."""
    library = _library()
    if library is None:
        raise ModuleNotFoundError("the viewer needs the package plotly: pip install plotly")
    return shown._page(library, title or type(shown).__name__)


def frame(shown: Shown) -> str:
    """Returns the page as a frame for a notebook. Without the plotting library, returns one line of text."""
    library = _library()
    if library is None:
        return f"<p>{_html.escape(repr(shown))}. <code>pip install plotly</code>, and it is drawn here.</p>"
    page = _html.escape(shown._page(library, type(shown).__name__), quote=True)
    return f'<iframe srcdoc="{page}" style="width: 100%; height: 760px; border: 0"></iframe>'
