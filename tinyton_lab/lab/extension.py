"""`%load_ext tinyton_lab`: the magics, how records and kernels are displayed, and one line that says what is there."""

from __future__ import annotations

from typing import Any

from IPython.display import display

from tinyton_lab._version import __version__
from tinyton_lab.kernel import Kernel, Launch, inspection
from tinyton_lab.kernel.launch import default_engine
from tinyton_lab.lab import card
from tinyton_lab.lab.inspector import compilation_of
from tinyton_lab.lab.magics import KernelMagics, status
from tinyton_lab.record.recording import Recording
from tinyton_lab.record.stage import Compilation


def load_ipython_extension(shell: Any) -> None:
    """Add the magics and the displays to an IPython shell; print one line."""
    shell.register_magics(KernelMagics)
    formatter = shell.display_formatter.mimebundle_formatter
    formatter.for_type(Compilation, card.bundle)
    formatter.for_type(Recording, recording_bundle)
    print(status(inspection.doctor(), default_engine(), __version__))


def show(shown: Kernel | Compilation | Launch, view: str = "") -> None:
    """Display the card of a kernel, a launch or a compilation; `view` opens first."""
    if isinstance(shown, Launch):
        compilation, recording = inspection.complete(shown.compilation), shown.recording
    else:
        compilation, recording = compilation_of(shown), None
    data, metadata = card.bundle(compilation, recording, view=view)
    display(data, metadata=metadata, raw=True)


def recording_bundle(recording: Recording) -> card.Bundle:
    """The card of a recording alone: its PTX and its trace."""
    return card.bundle(card.of_recording(recording), recording, view="trace")
