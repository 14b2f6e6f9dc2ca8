import json

import pytest

from recsieve.data.sources.blocks import read_blocks
from recsieve.data.sources.yelp import Yelp
from recsieve.errors import DataError

BUSINESSES = [
    {"business_id": "taqueria", "name": "T", "categories": "Mexican, Restaurants", "attributes": {"WiFi": "no"}},
    {"business_id": "pub", "categories": ["Nightlife", "Bars"]},  # as it was until 2017
    {"business_id": "gym", "categories": "Fitness & Instruction, Barre Classes, Active Life"},
    {"business_id": "nameless", "categories": None},
]
REVIEWS = [
    {
        "review_id": "1",
        "user_id": "u1",
        "business_id": "taqueria",
        "stars": 2.0,
        "date": "2018-07-07 22:09:11",
        "text": "x",
    },
    {"review_id": "2", "user_id": "u2", "business_id": "pub", "stars": 3, "date": "2014-02-13", "text": "a\nb"},
    {"review_id": "3", "user_id": "u1", "business_id": "gym", "stars": 5, "date": "2014-02-13"},
    {"review_id": "4", "user_id": "u1", "business_id": "nameless", "stars": 5, "date": "2014-02-13"},
]


@pytest.fixture
def folder(tmp_path):
    for kind, records in (("business", BUSINESSES), ("review", REVIEWS)):
        path = tmp_path / f"yelp_academic_dataset_{kind}.json"
        path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return tmp_path


def rows(source):
    (block,) = read_blocks(source.files()[0])
    return source.rows(block).rows()


def test_reviews_of_restaurants_and_bars_are_kept(folder):
    assert rows(Yelp(folder)) == [("u1", "taqueria", True, 1531001351), ("u2", "pub", False, 1392249600)]


def test_other_categories_can_be_asked_for_in_any_spelling(folder):
    assert [row[1] for row in rows(Yelp(folder, categories=("active life",)))] == ["gym"]


def test_a_category_that_nobody_has_is_told(folder):
    with pytest.raises(DataError, match="no business in Bar: give other categories"):
        rows(Yelp(folder, categories=("Bar",)))


def test_a_file_that_is_missing_is_told(folder):
    (folder / "yelp_academic_dataset_business.json").unlink()
    with pytest.raises(DataError, match=r"one file of business records such as yelp_academic_dataset_business.json"):
        rows(Yelp(folder))
