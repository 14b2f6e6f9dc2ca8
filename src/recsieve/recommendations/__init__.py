"""Lists of items for users: filters, ranking, and the frames that they are given in."""
