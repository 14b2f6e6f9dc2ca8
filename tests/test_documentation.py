"""The documentation is true: what it shows runs, and its links lead somewhere."""

import re
import shlex
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from unittest.mock import patch

import pytest

from recsieve.auto import make_plan
from recsieve.cli import main
from recsieve.denoisers import DENOISERS
from recsieve.models import MODELS
from recsieve.training.learner import GradientLearner

ROOT = Path(__file__).parents[1]
GUIDES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "docs").glob("[!d]*/*.md"))]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
# What docs/real-data.md calls the folders of real data.
REAL_DATA = {
    "ml-1m": "ml-1m",
    "goodbooks": "goodbooks-10k-v1",
    "steam": "steam-200k",
    "modcloth": "modcloth",
    "yelp": "yelp-paper-part",
}
# These train again and again, and have tests of their own: here they only have to know the options that they are given.
LONG_COMMANDS = (
    "demo",
    "audit",
    "paper",
    "compare",
    "tune",
    "leaderboard",
    "serve",
)  # the last goes on until it is stopped


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def blocks(page: Path) -> list[tuple[str, str]]:
    """The language and the text of each block of code that can be run."""
    return re.findall(r"^```(sh|python)\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


@pytest.fixture
def in_folder(tmp_path, monkeypatch):
    """Work in a folder of its own, with trainings of one epoch and choices of one model without an audit: to show that
    something runs, more add nothing."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("recsieve.preparation.GradientLearner", one_epoch)
    monkeypatch.setattr("recsieve.fitting.make_plan", one_model)
    monkeypatch.setattr("recsieve.auto.selection.estimate_noise", lambda *given, **options: (None, "not looked for."))
    monkeypatch.setattr("recsieve.audit.dynamics.MOST_EPOCHS", 1)
    with ExitStack() as stack:  # what a snippet adds to a registry is gone afterwards
        for registry in (DENOISERS, MODELS):
            stack.enter_context(patch.dict(registry._ours))
            stack.enter_context(patch.dict(registry._loaded))
        yield tmp_path


def one_epoch(model, options, plan, *rest):
    return GradientLearner(model, options, plan.model_copy(update={"epochs": 1}), *rest)


def one_model(train, budget, trials, *rest):
    return make_plan(train, budget, 1, *rest)


RUN = [
    pytest.param(guide, marks=pytest.mark.soak) if guide.name == "real-data.md" else guide  # over a minute by itself
    for guide in GUIDES
    if blocks(guide)
]


@pytest.mark.parametrize("guide", RUN, ids=name_of)
def test_every_command_and_snippet_runs(guide, in_folder, shared_data, monkeypatch):
    if guide.name == "real-data.md":
        for name, folder in REAL_DATA.items():
            (in_folder / name).symlink_to(shared_data(folder).resolve())
    names = {"__name__": guide.name}
    for language, text in blocks(guide):
        if language == "python":
            exec(compile(text, guide.name, "exec"), names)
        else:
            run_lines(text, monkeypatch)


def run_lines(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the commands of recsieve, and look that there is what `make` is told to do."""
    for line in text.replace("\\\n", " ").splitlines():
        program, *words = shlex.split(line, comments=True) or [""]
        if "torchrec" in words:  # needs several ranks
            subprocess.run([sys.executable, "-m", "torch.distributed.run", *words], check=True, capture_output=True)
        elif program == "torchrun":  # on one rank here: several have tests of their own
            program, *words = words[words.index("recsieve") :]
        if program == "make":
            assert set(words) <= make_targets(), line
        if program == "recsieve":
            monkeypatch.setattr(sys, "argv", [program, *words, *(["--help"] if words[0] in LONG_COMMANDS else [])])
            with pytest.raises(SystemExit) as ended:
                main()
            assert not ended.value.code, line


def make_targets() -> set[str]:
    return set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_link_leads_somewhere(page):
    prose = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    links = [link for link in re.findall(r"\]\(([^)\s]+)\)", prose) if "://" not in link]
    assert [link for link in links if not exists(page, link)] == []


def exists(page: Path, link: str) -> bool:
    """Whether a link leads to a file or folder, and to a heading in it if it names one."""
    path, _, anchor = link.partition("#")
    target = page.parent / path if path else page
    return target.exists() and (not anchor or anchor in anchors(target))


def anchors(page: Path) -> set[str]:
    """The headings of a page as links name them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
