"""Public data sets as their publishers give them, turned into splits of the paper's kind: one file a source."""
