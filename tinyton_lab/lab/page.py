"""A compilation as one HTML file that needs nothing else: the record, the viewer, and the static card."""

from __future__ import annotations

from tinyton_lab.lab import assets, graphs
from tinyton_lab.record import html, schema
from tinyton_lab.record.markup import Markup, element
from tinyton_lab.record.recording import Recording
from tinyton_lab.record.stage import Compilation

_STYLE = (
    ":root{color-scheme:light dark}body{margin:0 auto;max-width:1280px;padding:24px 16px;background:#fff;color:#1f2328;"
    "font:14px system-ui,sans-serif}@media(prefers-color-scheme:dark){body{background:#0f1115;color:#e4e8ee}}"
    "main{--tt-height:560px}"
)
_POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:"


def to_html(compilation: Compilation, recording: Recording | None = None) -> str:
    """Write a compilation as one HTML page; it asks the network for nothing.

    Without the built front end the page holds the static card alone.
    """
    drawn = graphs.graphs(compilation)
    card = Markup(html.card(compilation, recording, drawn))
    head = [
        element("meta", charset="utf-8"),
        element("meta", **{"http-equiv": "Content-Security-Policy", "content": _POLICY}),
        element("title", f"{compilation.kernel} \u2013 tinyton_lab"),
        element("style", Markup(_STYLE)),
    ]
    body = [element("main", card), *_live(schema.encode(compilation, recording, drawn))]
    return "<!doctype html>\n" + element("html", element("head", *head), element("body", *body), lang="en")


def _live(record: schema.RecordJson) -> list[Markup]:
    program = assets.module("page")
    if program is None:
        return []
    data = element("script", Markup(schema.dumps(record)), type="application/json")
    return [data, element("script", Markup(program), type="module")]
