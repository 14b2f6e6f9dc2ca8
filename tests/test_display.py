from io import StringIO

from rich.console import Console

from recsieve.display import Displayed, Shown


class Sample(Displayed):
    def shown(self):
        return Shown("<b>[red]a title", ("id", "score"), [("<script>", 0.25), ("[bold]x", None)])


def test_ids_are_escaped_in_html():
    text = Sample()._repr_html_()
    assert "&lt;script&gt;" in text
    assert "<script>" not in text
    assert "<td>0.2500</td>" in text


def test_ids_are_no_markup_for_rich():
    out = StringIO()
    Console(file=out, width=80).print(Sample())
    assert "[bold]x" in out.getvalue()
    assert "[red]a title" in out.getvalue()


def test_public_names_have_their_types(tmp_path):
    """Imports are lazy, but a checker of types and an editor see what is imported."""
    import subprocess
    import sys

    user = tmp_path / "user.py"
    user.write_text("from recsieve import Recommender\nreveal_type(Recommender().recommend)\n")
    words = [sys.executable, "-m", "mypy", "--follow-imports=silent", "--ignore-missing-imports", str(user)]
    told = subprocess.run(words, capture_output=True, text=True, check=False).stdout
    assert "DataFrame" in told
