"""What a notebook shows: magics, cards, the Inspector and the normal form of notebooks; nothing below imports it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tinyton_lab.lab.extension import load_ipython_extension, show
    from tinyton_lab.lab.inspector import Inspector
    from tinyton_lab.lab.page import to_html

__all__ = ["Inspector", "load_ipython_extension", "show", "to_html"]

_PLACES = {
    "Inspector": "tinyton_lab.lab.inspector",
    "load_ipython_extension": "tinyton_lab.lab.extension",
    "show": "tinyton_lab.lab.extension",
    "to_html": "tinyton_lab.lab.page",
}


def __getattr__(name: str) -> Any:
    """Load a part when it is asked for: the command line needs none of IPython, the magics no widgets."""
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_PLACES[name]), name)


def _jupyter_labextension_paths() -> list[dict[str, str]]:  # pyright: ignore[reportUnusedFunction]  # Jupyter calls it
    """Where JupyterLab's tools find the built extension, seen from the package."""
    return [{"src": "labextension", "dest": "jupyterlab-tinyton"}]
