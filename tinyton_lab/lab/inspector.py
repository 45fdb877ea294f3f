"""The Inspector as a widget: the viewer core in any notebook that shows ipywidgets, in touch with Python."""

from __future__ import annotations

from typing import Any

import anywidget
import traitlets

from tinyton_lab.kernel import Kernel, inspection
from tinyton_lab.lab import assets, card, graphs
from tinyton_lab.record import text
from tinyton_lab.record.recording import Recording
from tinyton_lab.record.stage import Compilation

_NOT_BUILT = 'export default {render({el}) { el.textContent = "The front end of tinyton_lab was not built."; }}'


class Inspector(anywidget.AnyWidget):
    """Look at a kernel or a compilation; `selected` holds the numbers of the selected ops, from either side.

    A kernel shows its latest compilation with every stage. Assign to `compilation` to show another.

    >>> import numpy as np
    >>> import tinyton_lab as tt, tinyton_lab.language as tl
    >>> @tt.jit
    ... def zero(x, BLOCK: tl.constexpr):
    ...     tl.store(x + tl.arange(0, BLOCK), 0.0)
    >>> tt.Inspector(tt.inspect(zero, np.ones(32, np.float32), BLOCK=32)).record["kernel"]["name"]
    'zero'
    """

    _esm = assets.module("inspector") or _NOT_BUILT
    record = traitlets.Dict().tag(sync=True)
    selected = traitlets.List(traitlets.Int()).tag(sync=True)
    height = traitlets.Int(460).tag(sync=True)

    def __init__(self, shown: Kernel | Compilation, recording: Recording | None = None, height: int = 460) -> None:
        self._compilation = compilation_of(shown)
        self._recording = recording
        super().__init__(record=_record(self._compilation, recording), height=height)
        self.on_msg(self._answer)

    @property
    def compilation(self) -> Compilation:
        """What is shown."""
        return self._compilation

    @compilation.setter
    def compilation(self, shown: Kernel | Compilation) -> None:
        self._compilation, self._recording = compilation_of(shown), None
        self.record = _record(self._compilation, None)

    def __repr__(self) -> str:
        return f"Inspector({text.fingerprint(self._compilation)})"

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        """The live view first; what a reader without a kernel sees is in the same bundle."""
        data, metadata = card.bundle(self._compilation, self._recording)
        live = super()._repr_mimebundle_(**kwargs)
        live_data = live[0] if isinstance(live, tuple) else live or {}
        return {
            **data,
            **{mime: value for mime, value in live_data.items() if mime.endswith("widget-view+json")},
        }, metadata

    def _answer(self, widget: Any, content: Any, buffers: Any) -> None:
        """Send the viewer core to a page that has none; a page asks once, however many widgets it shows."""
        if content == {"want": "viewer"}:
            self.send({"viewer": assets.module("viewer")})


def compilation_of(shown: Kernel | Compilation) -> Compilation:
    """The compilation that stands for what was given: of a kernel the latest one, with every stage."""
    return inspection.inspect(shown) if isinstance(shown, Kernel) else shown


def _record(compilation: Compilation, recording: Recording | None) -> dict[str, Any]:
    return dict(card.fitting(compilation, recording, graphs.graphs(compilation)))
