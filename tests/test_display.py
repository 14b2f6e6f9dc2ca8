import os
import subprocess
import sys
from io import StringIO
from pathlib import Path

from rich.console import Console

import recsieve
from recsieve.display import Displayed, Shown, counted_of


class Sample(Displayed):
    def shown(self):
        return Shown("<b>[red]a title", ("id", "score"), [("<script>", 0.25), ("[bold]x", None)])


def test_ids_are_escaped_in_html():
    text = Sample()._repr_html_()
    assert "&lt;script&gt;" in text
    assert "<script>" not in text
    assert "<td>0.2500</td>" in text


def test_a_result_is_short_text_where_there_is_no_notebook():
    assert repr(Sample()) == "<b>[red]a title\nid        score\n<script>  0.2500\n[bold]x   –"


def test_some_of_several_are_counted_as_english_does():
    assert counted_of(1, 1, "user") == "1 of 1 user is"
    assert counted_of(1, 3, "user") == "1 of 3 users is"
    assert counted_of(2, 3000, "user") == "2 of 3,000 users are"


def test_ids_are_no_markup_for_rich():
    out = StringIO()
    Console(file=out, width=80).print(Sample())
    assert "[bold]x" in out.getvalue()
    assert "[red]a title" in out.getvalue()


def test_public_names_have_their_types(tmp_path):
    """Imports are lazy, but a checker of types and an editor see what is imported."""
    user = tmp_path / "user.py"
    user.write_text("from recsieve import Recommender\nreveal_type(Recommender().evaluate)\n")
    package = Path(recsieve.__file__).parent
    # Without those of torch and polars, which take a minute to read.
    options = ("--no-site-packages", "--follow-imports=silent", "--ignore-missing-imports")
    told = subprocess.run(
        [sys.executable, "-m", "mypy", *options, user], env=os.environ | {"MYPYPATH": str(package.parent)},
        capture_output=True, text=True, check=False,
    ).stdout  # fmt: skip
    assert "-> recsieve.evaluation.metrics.Evaluation" in told
    assert (package / "py.typed").exists()
