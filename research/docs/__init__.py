"""The writers of the generated pages in docs/, from result files alone."""
