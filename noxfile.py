"""Builds and tests the package, and makes its wheels, with releases of torch_npu, each in an environment of its own.

nox --list                                          # the releases
nox -s "tests-3.11(2.10.0.post7)"                   # one of them, with Python 3.11; takes about three quarters of an hour and 7 GB
nox -s "tests-3.11(2.9.0)" -- --smoke               # only what a user does first; ten minutes
nox -s "tests-3.11(2.10.0.post7)" -- --last-failed  # only the tests that failed last time, to correct the record

nox -s "wheels-3.11(2.10)"    # a wheel in dist/torch-2.10/ for a minor version, and its installation tried
nox -t wheels                 # all wheels

The outcome of tests is a row of docs/versions.tsv; docs/generate_versions.py makes the table of docs/versions.md from it.
"""

import re
import shutil
import tempfile
from pathlib import Path

import nox

# The releases of torch_npu, the oldest first: of each minor version the first final one, and the newest.
RELEASES = (
    *("2.7.1", "2.7.1.post11"),
    *("2.8.0", "2.8.0.post5"),
    *("2.9.0", "2.9.0.post9"),
    *("2.10.0", "2.10.0.post7"),
    *("2.11.0", "2.11.0.post3"),
    *("2.12.0", "2.12.0.post3"),
    *("2.13.0", "2.14.0"),
)
# The newest release of each minor version, against which its wheels are built.
NEWEST = {".".join(release.split(".")[:2]): release for release in RELEASES}
PYTHONS = ("3.10", "3.11", "3.12", "3.13")

nox.options.sessions = []
# An interrupted run goes on with what it has installed.
nox.options.reuse_existing_virtualenvs = True


BUILT_WITHOUT_CANN = {"TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}


def install_torch_npu(session: nox.Session, release: str, *others: str) -> list[str]:
    """Install a release of torch_npu with its torch, and other packages; return the packages that a build needs in addition."""
    torch = release.partition(".post")[0]
    build = [row for row in nox.project.load_toml("pyproject.toml")["build-system"]["requires"] if "torch" not in row]
    session.install(f"torch=={torch}", "numpy", "pyyaml", *others)
    # Some releases name torch's CPU build in their metadata, which package indexes other than PyTorch's own do not have.
    session.install("--no-deps", f"torch_npu=={release}")
    return build


@nox.session(python=PYTHONS)
@nox.parametrize("release", [nox.param(release, id=release) for release in RELEASES])
def tests(session: nox.Session, release: str) -> None:
    """Build against a release of torch_npu, run the tests and the digits example, and record the outcome."""
    extras = nox.project.load_toml("pyproject.toml")["project"]["optional-dependencies"]
    session.install(*install_torch_npu(session, release, *extras["test"]))
    session.install("--no-deps", "--no-build-isolation", ".", env=BUILT_WITHOUT_CANN)
    session.run("python", "-m", "tests.versions", *session.posargs)


@nox.session(python=PYTHONS, tags=["wheels"])
@nox.parametrize("version", [nox.param(version, id=version) for version in NEWEST])
def wheels(session: nox.Session, version: str) -> None:
    """Make the wheel for a minor version, give it the platform that auditwheel finds, and try it: it needs no compiler."""
    directory = Path("dist", f"torch-{version}")
    tools = ("auditwheel", "wheel")
    session.install(*install_torch_npu(session, NEWEST[version], *tools))
    with tempfile.TemporaryDirectory() as made:
        session.run("pip", "wheel", "--no-deps", "--no-build-isolation", "-w", made, ".", env=BUILT_WITHOUT_CANN)
        (wheel,) = Path(made).glob("*.whl")
        view = session.run("auditwheel", "show", str(wheel), silent=True)
        session.log(view)
        platform = re.search(r"manylinux_\d+_\d+_\w+", view)[0]
        name = session.run("wheel", "tags", "--remove", "--platform-tag", platform, str(wheel), silent=True).split()[-1]
        directory.mkdir(parents=True, exist_ok=True)
        shutil.move(Path(made, name), directory / name)
    session.install("--no-deps", "--force-reinstall", str(directory / name))
    session.run("torch-aclnn", "info")
