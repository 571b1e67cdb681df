"""Find the shipped `prompts/` and `config/` folders, in a wheel or in a checkout."""

from pathlib import Path

from enricher.errors import SetupError

_PACKAGE = Path(__file__).resolve().parent


def folder(name: str) -> Path:
    """Return the shipped folder `name`; a wheel carries it as `enricher/_NAME`, a checkout at its root.

    Raises:
        SetupError: the installation is damaged.
    """
    # In site-packages a folder of that name could be anybody's; an editable install can leave a stale packaged copy.
    is_checkout = (_PACKAGE.parent / "pyproject.toml").is_file()
    found = _PACKAGE.parent / name if is_checkout else _PACKAGE / f"_{name}"
    if not found.is_dir():
        raise SetupError(f"the folder '{name}' is missing from this installation; reinstall trace-enricher")
    return found
