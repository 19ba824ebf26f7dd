"""Links that put the engine where an installed CANN is: what ``torch-aclnn link`` makes, and how they are recognised."""

from pathlib import Path

from torch_aclnn.loading.paths import toolkit

INSTALLATION = Path("/usr/local/Ascend")

# Paths in an installation's folder at which programs look, and their targets in the engine's toolkit.
_LINKS = {
    "ascend-toolkit/latest": ".",
    "ascend-toolkit/set_env.sh": "set_env.sh",
    "cann": ".",
    "driver/lib64/driver/libascend_hal.so": "lib64/libascend_hal.so",
}


def is_of_engine(path: Path) -> bool:
    """Return whether a path leads into the toolkit of an engine, of any environment, or is a folder that has only such paths."""
    if path.is_dir() and not path.is_symlink():
        members = list(path.iterdir())
        return bool(members) and all(map(is_of_engine, members))
    return "/torch_aclnn/toolkit/" in f"{path.resolve()}/"


def add(installation: Path) -> list[Path]:
    """Make the links in the folder of an installation, and return them.

    Raises:
        FileExistsError: there is a file in the place of a link; nothing has been changed then.

    """
    places = {installation / place: toolkit() / target for place, target in _LINKS.items()}
    for place in places:
        if not is_of_engine(place) if place.is_symlink() else place.exists():
            raise FileExistsError(f"{place} is there already, and not the engine's")
    for place, target in places.items():
        place.parent.mkdir(parents=True, exist_ok=True)
        place.unlink(missing_ok=True)
        place.symlink_to(target.resolve())
    return list(places)


def remove(installation: Path) -> list[Path]:
    """Remove the links, and the folders that are empty then; return the links."""
    removed = [place for place in (installation / name for name in _LINKS) if place.is_symlink() and is_of_engine(place)]
    for place in removed:
        place.unlink()
        for folder in place.relative_to(installation.parent).parents:
            if folder.name and not any((installation.parent / folder).iterdir()):
                (installation.parent / folder).rmdir()
    return removed
