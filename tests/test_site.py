"""The site: built without a warning, complete, and with nothing fetched from elsewhere."""

import os
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from research.docs.commands import command_page
from research.docs.site import API, public_names

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
# What a browser would fetch by itself, unlike a link that somebody clicks on.
FETCHED = re.compile(r"""<(?:script|link|img|iframe|source)\b[^>]*?\b(?:src|href)=["']?(?:https?:)?//[^>]*>""")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site as `make site` builds it."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    paths = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": paths})
    assert built.returncode == 0, built.stdout + built.stderr
    return folder


def test_no_page_fetches_anything_from_elsewhere(site):
    pages = {page: page.read_text(encoding="utf-8") for page in site.rglob("*.html")}
    assert len(pages) > 50
    fetched = {page.name: FETCHED.findall(text) for page, text in pages.items()}
    assert {name: found for name, found in fetched.items() if found} == {}
    styles = "".join(sheet.read_text(encoding="utf-8") for sheet in site.rglob("*.css"))
    assert not re.search(r"url\([\"']?(?:https?:)?//", styles)


def test_every_public_name_is_explained(site):
    for page, modules in API.items():
        html = (site / "api" / f"{page}.html").read_text(encoding="utf-8")
        for module in modules:
            missing = [name for name in public_names(module) if f'id="{module}.{name}"' not in html]
            assert missing == [], module


def test_the_pages_on_the_first_names_link_to_each_other(site):
    recommender = (site / "api" / "recsieve.html").read_text(encoding="utf-8")
    assert 'href="models.html#recsieve.models' in recommender
    assert 'href="denoisers.html#recsieve.denoisers' in recommender


def test_formulas_need_no_script(site):
    page = (site / "lazy-adam.html").read_text(encoding="utf-8")
    assert page.count("<math") > 10
    assert "arithmatex" not in page


def test_the_leaderboard_links_to_its_page_with_filters(site):
    assert 'href="leaderboard-charts.html"' in (site / "leaderboard.html").read_text(encoding="utf-8")
    assert "data-by=" in (site / "leaderboard-charts.html").read_text(encoding="utf-8")


def test_search_knows_every_kind_of_page(site):
    index = (site / "search" / "search_index.json").read_text(encoding="utf-8")
    for page in (
        "guides/events.html",
        "concepts/t-ce.html",
        "commands.html",
        "api/losses.html",
        "notebooks/noise.html",
    ):
        assert f'"location":"{page}' in index


def test_the_command_line_is_there_with_all_of_its_options():
    page = command_page()
    assert "## recsieve train" in page
    assert "## recsieve convert amazon" in page
    assert "`--false-positive FALSE_POSITIVE`" in page
    assert "recsieve paper" not in page  # no part of the package


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_from_top_to_bottom(path, tmp_path, monkeypatch):
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    notebook = nbformat.read(path, as_version=4)
    assert all(cell.outputs or cell.execution_count for cell in notebook.cells if cell.cell_type == "code")
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
