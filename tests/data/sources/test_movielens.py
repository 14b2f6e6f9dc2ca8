import pytest

from recsieve.data.sources.blocks import read_blocks
from recsieve.data.sources.movielens import MovieLens
from recsieve.errors import DataError

FILES = {
    "ratings.dat": "1::1193::5::978300760\n1::661::2::978302109\n",
    "u.data": "1\t1193\t5\t978300760\n1\t661\t2\t978302109\n",
    "ratings.csv": "userId,movieId,rating,timestamp\n1,1193,5.0,978300760\n1,661,2.5,978302109\n",
}


@pytest.mark.parametrize("name", FILES)
def test_every_release_is_read_from_its_folder_or_its_file(tmp_path, name):
    (tmp_path / name).write_text(FILES[name])
    (tmp_path / "movies.dat").write_text("1::Toy Story (1995)::Comedy\n")
    for source in (tmp_path, tmp_path / name):
        movielens = MovieLens(source)
        (block,) = read_blocks(*movielens.files())
        assert movielens.rows(block).rows() == [("1", "1193", False, 978300760), ("1", "661", True, 978302109)]


def test_a_line_of_another_shape_is_named(tmp_path):
    path = tmp_path / "ratings.dat"
    path.write_text("1::1193::5::978300760\n1::661::2\n")
    with pytest.raises(DataError, match="line 2"):
        MovieLens(path).rows(*read_blocks(path))


def test_a_folder_without_ratings_is_told(tmp_path):
    with pytest.raises(DataError, match=r"one of ratings.dat, u.data, ratings.csv"):
        MovieLens(tmp_path).files()
