"""What the site has beside docs/: the hooks that mkdocs.yml names.

The command line is read from Typer, the API from the public names of the package. Notebooks become pages and formulas
MathML. What a page links to outside docs/ is copied, and nothing is fetched from elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from posixpath import normpath, relpath
from tempfile import TemporaryDirectory
from typing import Any

import nbformat
from latex2mathml.converter import convert as to_mathml
from mkdocs.structure.files import File, Files
from nbconvert import MarkdownExporter

from recsieve.reporting.leaderboard import read_cells, write_leaderboard_page
from research.docs.commands import command_page
from research.docs.leaderboard import CHARTS

ROOT = Path(__file__).parents[2]
# The pages of the API, and the modules on each; a module without __all__ shows what it defines itself.
API = {
    "recsieve": ["recsieve", "recsieve.studies"],
    "data": [
        "recsieve.data.interactions",
        "recsieve.data.splitting",
        "recsieve.data.statistics",
        "recsieve.simulation.simulate",
        "recsieve.simulation.config",
    ],
    "models": ["recsieve.models"],
    "objectives": ["recsieve.objectives"],
    "denoisers": ["recsieve.denoisers"],
    "losses": ["recsieve.losses"],
    "optim": ["recsieve.optim"],
    "evaluation": ["recsieve.evaluation", "recsieve.recommendations.filters"],
    "audit": ["recsieve.audit", "recsieve.audit.checks"],
    "auto": ["recsieve.auto"],
    "training": ["recsieve.training", "recsieve.sampling", "recsieve.refresh"],
    "testing": ["recsieve.testing"],
    "notebook": ["recsieve.notebook"],
    "settings": ["recsieve.settings", "recsieve.progress", "recsieve.errors"],
}
PAGES = {"CHANGELOG.md": "changes.md", "CONTRIBUTING.md": "contributing.md", "README.md": "index.md"}
LINK = re.compile(r"(\]\()([^)\s#:]+)((?:#[^)\s]*)?\))")
EXAMPLE = re.compile(r"^(?:>>> .*\n?)+", re.MULTILINE)
FORMULA = re.compile(r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>', re.DOTALL)


def on_config(config: Any) -> Any:
    """The API's pages go before the evidence."""
    pages = [{name if name == "recsieve" else f"recsieve.{name}": f"api/{name}.md"} for name in API]
    titles = [next(iter(part)) for part in config.nav]
    config.nav.insert(titles.index("Evidence"), {"Python API": pages})
    return config


def on_files(files: Files, config: Any) -> Files:
    """Add what is generated; a notebook is replaced by its page."""
    for notebook in [file for file in files if file.src_uri.endswith(".ipynb")]:
        files.remove(notebook)
        for name, content in notebook_page(ROOT / "docs" / notebook.src_uri).items():
            files.append(File.generated(config, f"notebooks/{name}", content=content))
    generated = {"commands.md": command_page(), "decisions/index.md": decisions_page(ROOT / "docs" / "decisions")}
    generated |= {page: (ROOT / source).read_text() for source, page in PAGES.items() if page != "index.md"}
    generated |= {f"api/{name}.md": api_page(name, modules) for name, modules in API.items()}
    generated[CHARTS] = leaderboard_page(ROOT / "findings" / "leaderboard")
    for name, content in generated.items():
        files.append(File.generated(config, name, content=content))
    for linked in sorted(set(_outside(files))):
        files.append(File.generated(config, f"repository/{linked}", abs_src_path=str(ROOT / linked)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Let links that leave docs/ lead to what stands for their targets on the site."""
    here, place = page.file.src_uri, _in_repository(page.file.src_uri)

    def rewritten(match: re.Match[str]) -> str:
        target = normpath(f"{place}/../{match[2]}")
        if not (ROOT / target).exists():  # another generated page: MkDocs says if there is none
            return match[0]
        on_site = PAGES.get(target) or (
            target.removeprefix("docs/") if target.startswith("docs/") else f"repository/{target}"
        )
        on_site = f"{on_site}/index.md" if (ROOT / target).is_dir() else on_site
        return f"{match[1]}{relpath(on_site, f'{here}/..')}{match[3]}"

    return LINK.sub(rewritten, markdown).replace(f"`{CHARTS}`", f"[{CHARTS}]({CHARTS})")


def on_page_content(html: str, **_: Any) -> str:
    """Formulas as MathML, which browsers draw by themselves."""
    return FORMULA.sub(lambda match: to_mathml(match[2], display="block" if match[1] == "div" else "inline"), html)


def notebook_page(path: Path) -> dict[str, str | bytes]:
    """A notebook with its outputs as a page, and the pictures in it, by name."""
    notebook = nbformat.read(path, as_version=4)
    body, resources = MarkdownExporter().from_notebook_node(notebook, {"unique_key": path.stem})
    body += f"\n\n[This page as a notebook]({path.name})\n"
    return {f"{path.stem}.md": body, path.name: path.read_bytes(), **resources.get("outputs", {})}


def leaderboard_page(results: Path) -> str:
    """All results of the leaderboard with filters and charts."""
    with TemporaryDirectory() as folder:
        return write_leaderboard_page(read_cells(results), Path(folder) / CHARTS).read_text(encoding="utf-8")


def api_page(name: str, modules: list[str]) -> str:
    """The public names of some modules, each with its docstring and signature."""
    parts = [f"# {name if name == 'recsieve' else f'recsieve.{name}'}"]
    for module in modules:
        parts += [f"## {module}"] if len(modules) > 1 else []
        parts.append(EXAMPLE.sub(_fenced, import_module(module).__doc__ or ""))
        parts += [f"::: {module}.{public}\n    options:\n      heading_level: 3" for public in public_names(module)]
    return "\n\n".join(parts)


def _fenced(example: re.Match[str]) -> str:
    return f"\n```python\n{example[0].replace('>>> ', '')}\n```\n"


def public_names(module: str) -> list[str]:
    """What a module offers: its __all__, or else the functions and classes that it defines."""
    names = vars(import_module(module))
    offered = names.get("__all__") or [
        name for name, value in names.items() if getattr(value, "__module__", None) == module and name[0] != "_"
    ]
    return list(offered)


def decisions_page(folder: Path) -> str:
    """A list of the decisions by their titles."""
    notes = sorted(folder.glob("[0-9]*.md"))
    lines = [f"- [{note.read_text().splitlines()[0].removeprefix('# ')}]({note.name})" for note in notes]
    return "\n".join(["# Decisions", "", "What was decided and may surprise, and why, in a page each.", "", *lines])


def _outside(files: Files) -> Iterator[str]:
    """Files of the repository that pages link to and that are no part of docs/."""
    for file in files.documentation_pages():
        for match in LINK.finditer(file.content_string):
            target = normpath(f"{_in_repository(file.src_uri)}/../{match[2]}")
            if target not in PAGES and not target.startswith("docs/") and (ROOT / target).is_file():
                yield target


def _in_repository(uri: str) -> str:
    """Where the source of a page is, seen from the root."""
    sources = {page: source for source, page in PAGES.items() if page != "index.md"}
    return sources.get(uri, f"docs/{uri}")
