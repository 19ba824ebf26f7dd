"""examples/Dockerfile has the commands of the README, and they work in a bare Debian."""

import json
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from string import Template

import pytest

from support.marks import host_engine_only

ROOT = Path(__file__).parents[2]
DOCKERFILE = (ROOT / "examples" / "Dockerfile").read_text()
# Each instruction with the rest of its line.
INSTRUCTIONS = [tuple(line.split(" ", 1)) for line in DOCKERFILE.splitlines() if line and not line.startswith("#")]


def values(keyword: str) -> list[str]:
    return [rest for instruction, rest in INSTRUCTIONS if instruction == keyword]


def test_the_commands_are_those_of_the_readme():
    readme = (ROOT / "README.md").read_text()
    packages, install = values("RUN")
    listed = re.search(r"on Debian and Ubuntu (.*?)\)", readme.replace("\n", " "))[1]
    assert packages.split("--no-install-recommends ")[1].split() == re.findall(r"[\w+-]+", listed.replace(" and ", " "))
    assert f"\n{install.removesuffix(' && rm -r build')}\n.venv/bin/{shlex.join(json.loads(*values('CMD')))}\n" in readme
    assert f"export {values('ENV')[0].split()[0]} " in readme


def test_the_development_container_is_the_same_image():
    folder = ROOT / ".devcontainer"
    build = json.loads((folder / "devcontainer.json").read_text())["build"]
    paths = [(folder / build[name]).resolve() for name in ("dockerfile", "context")]
    assert paths == [ROOT / "examples" / "Dockerfile", ROOT]


def in_debian(root: Path, directory: str, command: str, environment: dict[str, str]) -> str:
    """Run a command in a Debian that lies in a folder, with mounts of its own; pip takes packages from where this machine's pip does."""
    settings = {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
    mounts = [f"mount -t proc proc {root}/proc"]
    for path in (Path(value) for value in settings.values() if value.startswith("/")):
        inside = root / path.relative_to("/")
        (inside if path.is_dir() else inside.parent).mkdir(parents=True, exist_ok=True)
        mounts.append(f"mount --bind {path} {inside}" if path.is_dir() else f"cp {path} {inside}")
    script = " && ".join([*mounts, f"exec chroot {root} sh -c {shlex.quote(f'cd {directory} && {command}')}"])
    isolated = ["unshare", "--mount", "--pid", "--fork", "sh", "-c", script]
    done = subprocess.run(isolated, env=settings | environment, capture_output=True, text=True, timeout=3600)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


@host_engine_only
@pytest.mark.exhaustive
@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("debootstrap") is None, reason="needs root, debootstrap and a network")
def test_the_instructions_make_of_a_bare_debian_what_trains_on_npu(tmp_path):
    root, directory, printed = tmp_path / "debian", "/", ""
    release = re.fullmatch(r"debian:(\w+)-slim", *values("FROM"))[1]
    subprocess.run(["debootstrap", "--variant=minbase", release, root], check=True, capture_output=True, timeout=600)
    environment = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root"}
    for instruction, rest in INSTRUCTIONS:
        if instruction == "WORKDIR":
            directory = rest
        elif instruction == "COPY":
            for name in subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines():
                copy = root / directory.lstrip("/") / name
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / name, copy)
        elif instruction == "ENV":
            settings = (setting.split("=", 1) for setting in rest.split())
            environment |= {name: Template(value).substitute(environment) for name, value in settings}
        elif instruction in ("RUN", "CMD"):
            printed = in_debian(root, directory, rest if instruction == "RUN" else shlex.join(json.loads(rest)), environment)
    assert "host engine (CPU)" in printed and "test accuracy" in printed
