"""The benchmark of the build, without a build."""

import pytest

from benchmarks import build


def test_without_a_build_it_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setattr(build, "ROOT", tmp_path)
    with pytest.raises(SystemExit, match="build from nothing first"):
        build.main()


def test_the_last_build_counts_in_units(tmp_path, monkeypatch, capsys):
    (tmp_path / "build" / "one").mkdir(parents=True)
    (tmp_path / "build" / "one" / "processor_seconds").write_text("100.0\n")
    monkeypatch.setattr(build, "ROOT", tmp_path)
    monkeypatch.setattr(build, "unit_seconds", lambda: 8.0)
    build.main()
    assert capsys.readouterr().out == "build: 12.5 units (100 s of processor time, 8.0 s a unit)\n"
