import numpy as np
import pytest
from scipy.sparse import csr_array, random_array

from recsieve.models.item_products import nearest


@pytest.mark.parametrize("share", [0.005, 0.4])  # rows whose products are fewer than the columns, and more
@pytest.mark.parametrize("k", [0, 3])
def test_the_nearest_are_the_largest_of_each_row_of_the_product_whether_it_is_sparse_or_dense(share, k):
    right = csr_array(random_array((200, 60), density=share, rng=np.random.default_rng(0), dtype=np.float32))
    product = (right.T.astype(np.float64) @ right.astype(np.float64)).toarray()
    np.fill_diagonal(product, 0)
    floors = np.sort(product, axis=1)[:, -(k or 60)]
    expected = np.where(product >= floors[:, None], product, 0)
    found = nearest(right.T.tocsr(), right, k).toarray()
    np.testing.assert_allclose(found, expected, rtol=1e-6)
