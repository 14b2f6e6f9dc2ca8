"""What cannot be read from the file of a log itself."""

from __future__ import annotations

import codecs
from dataclasses import dataclass

from recsieve.errors import ConfigError


@dataclass(frozen=True)
class Format:
    """How to read a file: whether text has a header (None: detect), its encoding (UTF-8), a database query."""

    header: bool | None = None
    encoding: str | None = None
    query: str | None = None

    def __post_init__(self) -> None:
        if self.encoding is None:
            return
        try:
            codecs.lookup(self.encoding)
        except LookupError:
            raise ConfigError(
                f"the encoding '{self.encoding}' is not known: give one such as latin-1, cp1252 or utf-16."
            ) from None


AS_FOUND = Format()
