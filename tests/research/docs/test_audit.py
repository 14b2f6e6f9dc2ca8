import json
from pathlib import Path

import pytest

from recsieve.errors import DataError
from research.docs.audit import STUDY, audit_page
from research.docs.markdown import read_results

ROOT = Path(__file__).parents[3]


def test_the_documentation_says_what_the_results_say():
    names = ("audit-coverage.json", "checks.json")
    beside = (json.loads((ROOT / "findings" / name).read_text(encoding="utf-8")) for name in names)
    written = (ROOT / "docs" / "audit.md").read_text(encoding="utf-8")
    assert written == audit_page(read_results(ROOT / "findings" / "audit"), *beside)


def test_a_folder_without_results_is_refused(tmp_path):
    with pytest.raises(DataError, match="no results"):
        read_results(tmp_path, STUDY)
