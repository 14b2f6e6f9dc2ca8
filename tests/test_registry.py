"""Things by name, ours and those of other packages."""

import sys

import pytest

from recsieve.errors import ConfigError
from recsieve.registry import Registry


@pytest.fixture
def offer(tmp_path, monkeypatch):
    """A function that installs a package with a module and its entry points, as pip would, for this test alone."""
    monkeypatch.syspath_prepend(tmp_path)

    def install(module, text, **points):
        (tmp_path / f"{module}.py").write_text(text)
        info = tmp_path / f"{module}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n")
        lines = [f"{name.replace('_', '-')} = {module}:{what}" for name, what in points.items()]
        (info / "entry_points.txt").write_text("[recsieve.things]\n" + "\n".join(lines) + "\n")
        monkeypatch.delitem(sys.modules, module, raising=False)

    return install


def test_what_another_package_offers_is_found_by_name_and_imported_when_it_is_asked_for(offer):
    offer("plugin_good", "class Mine: pass", my_own="Mine")
    things = Registry("thing", {"ours": int})
    assert list(things) == ["ours", "my-own"]
    assert len(things) == 2
    assert "my-own" in things
    assert "plugin_good" not in sys.modules
    assert things["my-own"].__name__ == "Mine"
    assert things["my-own"] is things["my-own"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [("raise RuntimeError('no licence')", "RuntimeError: no licence"), ("import no_such_module", "No module named"),
     ("x = 1", "has no attribute 'Mine'")],
)  # fmt: skip
def test_a_broken_plug_in_is_one_clear_line_and_the_others_work(offer, text, reason):
    offer("plugin_broken", text, broken="Mine")
    things = Registry("thing", {"ours": int})
    assert things["ours"] is int
    assert "broken" in things
    with pytest.raises(ConfigError) as raised:
        things["broken"]
    message = str(raised.value)
    assert message.startswith("the thing 'broken' comes from plugin_broken:Mine, which cannot be imported")
    assert reason in message
    assert "\n" not in message


def test_a_plug_in_with_one_of_our_names_never_takes_its_place(offer):
    offer("plugin_greedy", "class Mine: pass", ours="Mine")
    things = Registry("thing", {"ours": int})
    assert list(things) == ["ours"]
    assert things["ours"] is int
    assert "plugin_greedy" not in sys.modules


def test_what_is_added_in_this_process_is_found_like_the_others():
    things = Registry("thing", {"ours": int})
    things["mine"] = float
    assert list(things) == ["ours", "mine"]
    assert things["mine"] is float
    assert "mine" not in Registry("thing", {"ours": int})


def test_an_unknown_name_is_answered_with_a_close_one_also_of_a_plug_in(offer):
    offer("plugin_close", "class Mine: pass", something="Mine")
    with pytest.raises(ConfigError, match="there is no thing 'somthing': did you mean 'something'"):
        Registry("thing", {"ours": int})["somthing"]
