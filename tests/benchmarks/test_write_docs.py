import pytest

from benchmarks.rivals_docs import rivals_page
from benchmarks.write_docs import ROOT, speed_page


@pytest.mark.parametrize(("name", "page"), [("speed", speed_page), ("rivals", rivals_page)])
def test_the_page_shows_what_is_in_the_result_files(name, page):
    assert (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8") == page()
