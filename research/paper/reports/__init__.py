"""The paper's results as pages, charts and tables, each in a file, from its JSON alone."""
