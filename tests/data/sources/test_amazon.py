import json

import pytest

from recsieve.data.sources.amazon import Amazon
from recsieve.data.sources.blocks import read_blocks
from recsieve.errors import DataError

REVIEW_2014 = {
    "reviewerID": "A2SUAM1J3GNN3B", "asin": "0000013714", "helpful": [2, 3], "reviewText": "I bought\nthis",
    "overall": 2.0, "summary": "Heavenly", "unixReviewTime": 1252800000, "reviewTime": "09 13, 2009",
}  # fmt: skip
REVIEW_2023 = {
    "rating": 3.0, "title": "ok", "text": "", "images": [], "asin": "B00YQ6X8EO", "parent_asin": "B00YQ6X8E1",
    "user_id": "AGKHLEW2SOWHNMFQIJGBECAF7INQ", "timestamp": 1588687728923, "verified_purchase": True,
}  # fmt: skip


def rows(tmp_path, text):
    path = tmp_path / "reviews_Books_5.json"
    path.write_text(text)
    (block,) = read_blocks(path)
    return Amazon(path).rows(block).rows()


def test_reviews_of_every_release_are_read(tmp_path):
    found = rows(tmp_path, f"{json.dumps(REVIEW_2014)}\n{json.dumps(REVIEW_2023)}\n")
    assert found == [
        ("A2SUAM1J3GNN3B", "0000013714", True, 1252800000),
        ("AGKHLEW2SOWHNMFQIJGBECAF7INQ", "B00YQ6X8E1", False, 1588687728),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "A2SUAM1J3GNN3B,0000013714,2.0,1252800000\nA3V5P5ZFQ,0000013714,5.0,1252800001\n",  # 2014: users first
        "0000013714,A2SUAM1J3GNN3B,2.0,1252800000\n0000013714,A3V5P5ZFQ,5.0,1252800001\n",  # 2018: items first
        "user_id,parent_asin,rating,timestamp\n"
        "A2SUAM1J3GNN3B,0000013714,2.0,1252800000123\nA3V5P5ZFQ,0000013714,5.0,1252800001456\n",  # 2023
    ],
)
def test_ratings_alone_are_read_in_either_order(tmp_path, text):
    assert rows(tmp_path, text) == [
        ("A2SUAM1J3GNN3B", "0000013714", True, 1252800000),
        ("A3V5P5ZFQ", "0000013714", False, 1252800001),
    ]


def test_a_review_without_a_rating_is_left_out(tmp_path):
    unrated = {name: value for name, value in REVIEW_2014.items() if name != "overall"}
    assert len(rows(tmp_path, f"{json.dumps(unrated)}\n{json.dumps(REVIEW_2014)}\n")) == 1


def test_a_folder_is_refused(tmp_path):
    with pytest.raises(DataError, match="give one file"):
        Amazon(tmp_path).files()
