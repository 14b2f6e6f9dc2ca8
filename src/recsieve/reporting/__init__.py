"""Tables, charts and pages from result files."""
