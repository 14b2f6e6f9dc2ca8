"""From a log to checked, split interactions with integer codes."""
