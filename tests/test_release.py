"""What is released: light to import, whole in the wheel, with one version."""

import re
import subprocess
import sys
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
TORCH_AND_WHAT_IT_NEEDS = {"torch", "numpy"}


def python(code: str, *, program: str = sys.executable) -> str:
    return subprocess.run([program, "-c", code], check=True, capture_output=True, text=True).stdout


def packages() -> set[str]:
    """What recsieve depends on, as it is imported."""
    names = [re.split(r"[<>=\[]", requirement)[0] for requirement in PROJECT["dependencies"]]
    return {name.replace("-", "_").removesuffix("_python") for name in names}


def test_losses_and_the_lazy_adam_import_nothing_but_torch():
    blocked = sorted((packages() | {"pandas", "pyarrow", "fastapi"}) - TORCH_AND_WHAT_IT_NEEDS)
    python(f"import sys\nsys.modules.update(dict.fromkeys({blocked}))\nimport recsieve.losses, recsieve.optim")


def test_help_and_version_import_nothing_heavy():
    heavy = {"torch", "polars", "numba", "numpy", "scipy", "sqlglot", "altair", "optuna", "narwhals"}
    code = (
        "import sys\nfrom recsieve.cli import app\n"
        "for word in ('--help', '--version'):\n    app([word], standalone_mode=False)\n"
        f"assert not {heavy} & sys.modules.keys()"
    )
    assert re.search(r"^recsieve \d+\.\d+\.\d+$", python(code), re.MULTILINE)


def test_a_version_is_said_in_one_way():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {PROJECT['version']}\n" in citation
    assert PROJECT["version"] in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A wheel and an sdist, built from a copy of what is released."""
    folder, out = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("dist")
    released = [ROOT / name for name in ("src", "pyproject.toml", "README.md", "LICENSE")]
    subprocess.run(["cp", "-r", *released, folder], check=True)
    code = f"from setuptools import build_meta as b\nb.build_sdist({str(out)!r})\nb.build_wheel({str(out)!r})"
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, cwd=folder)
    return out


def test_the_wheel_has_every_module_and_template_and_nothing_else(built):
    wheel = next(built.glob("*.whl"))
    names = {name for name in zipfile.ZipFile(wheel).namelist() if not name.split("/")[0].endswith(".dist-info")}
    source = ROOT / "src"
    kept = (path for path in source.rglob("*") if path.suffix in (".py", ".html", ".css", ".js", ".typed"))
    assert names == {str(path.relative_to(source)) for path in kept}
    assert wheel.name.startswith(f"recsieve-{PROJECT['version']}-")


@pytest.mark.soak
@pytest.mark.parametrize("kind", ["*.whl", "*.tar.gz"])
def test_what_is_built_works_in_an_empty_environment(built, tmp_path, kind):
    venv.create(tmp_path / "env", with_pip=True)
    programs = tmp_path / "env" / "bin"
    pip = [programs / "pip", "install", "--quiet", "--constraint", ROOT / "constraints.txt"]
    subprocess.run([*pip, next(built.glob(kind))], check=True)
    run = tmp_path / "run"
    for command in ("--version", "simulate --out shop", f"train shop --model ease --out {run}", f"evaluate {run}"):
        subprocess.run([programs / "recsieve", *command.split()], check=True, cwd=tmp_path)
