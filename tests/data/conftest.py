"""Settings of the tests of laws."""

from hypothesis import settings

# The first call of a polars function is slow, and so is a busy machine: neither is a failure.
settings.register_profile("no deadline", deadline=None)
settings.load_profile("no deadline")
