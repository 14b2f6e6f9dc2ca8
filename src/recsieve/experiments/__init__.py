"""Where all parts meet."""
