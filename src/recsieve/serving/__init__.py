"""A run as an HTTP service."""
