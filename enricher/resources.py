"""Find the shipped `prompts/` and `config/` folders, in a wheel or in a checkout."""

from pathlib import Path

from enricher.errors import SetupError

_PACKAGE = Path(__file__).resolve().parent


def folder(name: str) -> Path:
    """Return the shipped folder `name`; a wheel carries it as `enricher/_NAME`, a checkout at its root.

    Raises:
        SetupError: neither place has it, so the installation is damaged.
    """
    # The checkout comes first: an editable install can leave a stale copy inside the package.
    for candidate in (_PACKAGE.parent / name, _PACKAGE / f"_{name}"):
        if candidate.is_dir() and (candidate.parent / "enricher").is_dir() or candidate.name.startswith("_"):
            if candidate.is_dir():
                return candidate
    raise SetupError(f"the folder '{name}' is missing from this installation; reinstall trace-enricher")
