"""Builds and tests the package with each version of torch_npu that it supports, each in an environment of its own.

nox --list                    # the versions
nox -s "tests-3.11(2.10)"     # one of them, with Python 3.11; takes about three quarters of an hour and 7 GB
nox -s "tests-3.11(2.10)" -- --smoke         # only the digits example and the tests of the operators
nox -s "tests-3.11(2.10)" -- --last-failed   # only the tests that failed last time, to correct the record

The outcome is written to docs/versions/; docs/generate_versions.py makes the table of docs/versions.md from it.
"""

import shutil

import nox

# The newest release of each minor version of torch_npu, and the torch that it asks for.
VERSIONS = {
    "2.7": ("2.7.1.post11", "2.7.1"),
    "2.8": ("2.8.0.post5", "2.8.0"),
    "2.9": ("2.9.0.post9", "2.9.0"),
    "2.10": ("2.10.0.post7", "2.10.0"),
    "2.11": ("2.11.0.post3", "2.11.0"),
    "2.12": ("2.12.0.post3", "2.12.0"),
    "2.13": ("2.13.0", "2.13.0"),
    "2.14": ("2.14.0", "2.14.0"),
}
PYTHONS = ("3.10", "3.11", "3.12", "3.13")

nox.options.sessions = []
# An interrupted run goes on with what it has installed.
nox.options.reuse_existing_virtualenvs = True


@nox.session(python=PYTHONS)
@nox.parametrize("version", [nox.param(version, id=version) for version in VERSIONS])
def tests(session: nox.Session, version: str) -> None:
    """Build against a version of torch_npu, run the tests and the digits example, and record the outcome."""
    torch_npu, torch = VERSIONS[version]
    project = nox.project.load_toml("pyproject.toml")
    build = [requirement for requirement in project["build-system"]["requires"] if "torch" not in requirement]
    session.install(f"torch=={torch}", "numpy", "pyyaml", *build, *project["project"]["optional-dependencies"]["test"])
    # Some releases name torch's CPU build in their metadata, which package indexes other than PyTorch's own do not have.
    session.install("--no-deps", f"torch_npu=={torch_npu}")
    shutil.rmtree("build", ignore_errors=True)  # what was built for another version
    session.install("--no-deps", "--no-build-isolation", ".", env={"TORCH_DEVICE_BACKEND_AUTOLOAD": "0"})
    session.run("python", "-m", "tests.versions", *session.posargs)
