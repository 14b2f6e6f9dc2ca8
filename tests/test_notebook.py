from recsieve.notebook import bar_html, progress_bar
from recsieve.progress import Advanced
from recsieve.training import Began, Trained, Validated


class Place:
    """Stands in for the output of a cell."""

    def __init__(self, shown):
        self.shown = [shown.data]

    def update(self, shown):
        self.shown.append(shown.data)


def test_a_bar_says_what_how_far_and_how_long_and_lets_no_name_become_markup():
    html = bar_html(Advanced("<b>GMF</b>", 1, 4, "steps", "loss 0.3"), seconds=12.4)
    assert html == '<progress value="0.250" max="1"></progress> &lt;b&gt;GMF&lt;/b&gt; · 25% · 12 s · loss 0.3'


def test_trainings_and_other_progress_are_drawn_in_place_and_the_end_is_always_drawn(monkeypatch):
    places = []
    monkeypatch.setattr("IPython.display.display", lambda shown, display_id: places.append(Place(shown)) or places[-1])
    bar = progress_bar("all")
    for event in (Began("gmf", 3, 3), Validated(1, 1, 0.5, True), Trained(9, 1, 10, 0.25), Trained(10, 1, 10, 0.125)):
        bar(event)
    bar(Advanced("lists", 5, 5, "users"))
    (place,) = places
    assert "all 3/3 gmf · 100%" in place.shown[-2]
    assert "loss 0.1250 ndcg@20 0.5000" in place.shown[-2]
    assert "lists · 100%" in place.shown[-1]
