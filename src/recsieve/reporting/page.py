"""Self-contained pages: no network access, and every id escaped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import altair as alt
import vl_convert
from jinja2 import Environment, PackageLoader
from markupsafe import Markup

from recsieve.files import write_text
from recsieve.reporting.tables import number, numeric


@dataclass(frozen=True)
class Section:
    """A heading, some text, and optionally a list, a table, a chart, or charts side by side.

    `lead` is the summary sentence.
    """

    heading: str
    paragraphs: Sequence[str] = ()
    header: Sequence[str] = ()
    rows: Sequence[Sequence[Any]] = ()
    panels: Sequence[dict[str, Any]] = ()  # Vega-Lite
    points: Sequence[str] = ()
    facts: Sequence[tuple[str, str]] = ()  # a name and what there is to say, in boxes
    lead: str = ""


def source_name(source: str) -> str:
    """What data is called: the last part of its path that says something."""
    parts = [part for part in Path(source).parts if not part.startswith("interactions")]
    return parts[-1] if parts else source


def write_page(
    path: Path, title: str, subtitle: str, sections: Sequence[Section], *, template: str = "page.html", data: Any = None
) -> None:
    """Write sections as one self-contained HTML file; another template may also show `data`."""
    environment = Environment(loader=PackageLoader("recsieve.reporting"), autoescape=True)
    charts = data is not None or any(section.panels for section in sections)
    text = environment.get_template(template).render(
        title=title, subtitle=subtitle, sections=sections, charts=charts, number=number, numeric=numeric, data=data,
        bundle=_drawing_code() if charts else "",
    )  # fmt: skip
    write_text(path, text)


@cache
def _drawing_code() -> Markup:
    """Vega and its helpers, to be put into the page itself."""
    vegalite = "_".join(alt.SCHEMA_VERSION.split(".")[:2]).removeprefix("v")
    code = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", vl_version=vegalite)
    return Markup(code.replace("</script", "<\\/script"))
