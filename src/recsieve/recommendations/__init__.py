"""Lists of items for users: filters, ranking, and data frames."""
