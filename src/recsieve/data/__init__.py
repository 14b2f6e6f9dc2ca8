"""From anybody's log to checked, split, integer-coded interactions."""
