"""Tests of the wheel: its size, its types, and the samples of its documentation."""

import doctest
import importlib.metadata
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

import allot
import allot._allot
import allot._planner

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.skipif("ALLOT_WHEEL" not in os.environ, reason="skipped: only ./dev wheel --test builds a wheel")
def test_the_wheel_is_small_and_runs_on_old_systems():
    wheel = Path(os.environ["ALLOT_WHEEL"])
    assert wheel.stat().st_size < 2_000_000
    assert "manylinux" in wheel.name
    if sys.version_info >= (3, 12):
        assert "-abi3-" in wheel.name


@pytest.mark.parametrize("module", [allot, allot._allot, allot._planner], ids=lambda module: module.__name__)
def test_samples_of_docstrings(module):
    done = doctest.testmod(module, optionflags=doctest.ELLIPSIS)
    assert done.attempted and not done.failed


@pytest.mark.parametrize("page", ["docs/python.md", "bindings/python/README.md"])
def test_samples_of_pages(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = doctest.testfile(str(ROOT / page), module_relative=False, optionflags=doctest.ELLIPSIS)
    assert done.attempted and not done.failed


def test_every_public_name_is_documented():
    for name in allot.__all__:
        value = getattr(allot, name)
        assert value.__doc__, name
        for member in vars(value) if isinstance(value, type) else ():
            if not member.startswith("_") and not issubclass(value, tuple):
                assert getattr(value, member).__doc__, f"{name}.{member}"


def test_the_version_is_that_of_the_package():
    assert allot.__version__ == importlib.metadata.version("allot")


def mypy(*arguments):
    return subprocess.run([sys.executable, "-m", "mypy", "--strict", "--cache-dir", os.devnull, *arguments], capture_output=True, text=True)


def test_the_types_of_the_package_are_right():
    done = mypy("-p", "allot")
    assert done.returncode == 0, done.stdout


def test_mypy_finds_mistakes_of_users(tmp_path):
    program = tmp_path / "program.py"
    program.write_text("import allot\n"
                       "reveal_type(allot.plan([(1, 0, 1)]))\n"
                       "reveal_type(allot.plan([(1, 0, 1)], memories=[(1,)]))\n"
                       "reveal_type(allot.OffsetAllocator(1).allocate(1))\n"
                       "allot.OffsetAllocator('1')\n")
    done = mypy(str(program))
    assert 'Revealed type is "allot._plans.Plan"' in done.stdout
    assert 'Revealed type is "allot._plans.MemoriesPlan"' in done.stdout
    assert 'Revealed type is "int"' in done.stdout or 'builtins.int"' in done.stdout
    assert "arg-type" in done.stdout and done.stdout.count("error:") == 1


def test_numpy_is_optional():
    program = ("import sys\nsys.modules['numpy'] = sys.modules['pandas'] = sys.modules['plotly'] = None\n"
               "import allot\nassert allot.plan([(4, 0, 1)]).peak == 4\nassert allot.OffsetAllocator(9).allocate(4) == 0")
    subprocess.run([sys.executable, "-c", program], check=True)
    assert importlib.util.find_spec("numpy")


def test_a_subinterpreter_is_refused():
    try:
        import _interpreters as interpreters  # Python 3.13 and newer
    except ImportError:
        import _xxsubinterpreters as interpreters
    other = interpreters.create()
    try:
        failed = interpreters.run_string(other, """if True:
            try:
                import allot
            except ImportError as error:
                assert "not support" in str(error) and "subinterpreters" in str(error), error
            else:
                raise AssertionError("it was imported")
        """)
        assert failed is None
    finally:
        interpreters.destroy(other)
    assert allot.plan([(4, 0, 2)]).peak == 4
