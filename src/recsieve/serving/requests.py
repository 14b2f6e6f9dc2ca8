"""The requests of the service, and their limits."""

from __future__ import annotations

from typing import Annotated, Any, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StrictInt, StrictStr, model_validator

from recsieve.recommendations.filters import Filters

MOST_BYTES = 8 << 20  # of a request
Id = Annotated[StrictStr, Field(max_length=1000)] | StrictInt
Profile = Annotated[list[Id], Field(max_length=10_000)]
Name = Annotated[str, Field(max_length=1000)]
Items = Annotated[list[Id], Field(max_length=100_000)] | Annotated[dict[Name, Profile], Field(max_length=1000)]


def _no_answer(value: Any) -> Any:
    """Refuse true and false where a number is asked for: somebody may think of `explain` as a switch."""
    if isinstance(value, bool):
        raise ValueError("give a number: how many reasons for each recommendation, e.g. 3, or 0 for none")
    return value


Length = Annotated[int, Field(ge=1, le=1000, strict=True)]


class _Request(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Recommend(_Request):
    """Lists for users of the run, or for profiles of items."""

    users: Annotated[list[Id], Field(min_length=1, max_length=1000)] | None = None
    profiles: (
        Annotated[list[Profile], Field(min_length=1, max_length=100)]
        | Annotated[dict[Name, Profile], Field(min_length=1, max_length=100)]
        | None
    ) = None
    k: Length = 10
    exclude_seen: bool = True
    allow: Items | None = None
    deny: Items | None = None
    min_popularity: Annotated[int, Field(ge=0, le=1 << 60, strict=True)] = 0
    categories: Annotated[dict[Name, Name], Field(max_length=100_000)] | None = None  # item to category
    per_category: Annotated[int, Field(ge=0, le=1000, strict=True)] = 0
    explain: Annotated[int, Field(ge=0, le=20, strict=True), BeforeValidator(_no_answer)] = 0

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.users is None) == (self.profiles is None):
            raise ValueError("give either users or profiles")
        return self

    def asked(self) -> list[Any]:
        """The users as given; profiles in a list are numbered."""
        if isinstance(self.profiles, list):
            return list(range(len(self.profiles)))
        return list(self.profiles or self.users or [])

    @property
    def is_plain(self) -> bool:
        """Whether it is for users, without filters or reasons that differ by user."""
        own = (self.profiles, self.allow, self.deny, self.categories)
        return all(given is None for given in own) and not self.per_category and not self.explain

    def ranked_alike(self) -> tuple[Any, ...]:
        """What plain requests must share to be ranked together."""
        return self.k, self.exclude_seen, self.min_popularity

    def named_profiles(self) -> dict[str, list[str]]:
        named = enumerate(self.profiles) if isinstance(self.profiles, list) else (self.profiles or {}).items()
        return {str(name): [str(item) for item in items] for name, items in named}

    def filters(self) -> Filters:
        return Filters(
            self.exclude_seen, self.allow, self.deny, self.min_popularity, self.categories, self.per_category
        )


class Similar(_Request):
    """Items similar to each of some."""

    items: Annotated[list[Id], Field(min_length=1, max_length=100)]
    k: Length = 10


class Explain(_Request):
    """Which items of a user, or of a profile, contribute to some items."""

    user: Id | None = None
    profile: Profile | None = None
    items: Annotated[list[Id], Field(min_length=1, max_length=1000)]
    most: Annotated[int, Field(ge=1, le=100, strict=True)] = 3

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.user is None) == (self.profile is None):
            raise ValueError("give either user or profile")
        return self


class Reload(_Request):
    """Another run folder, the same one as it is now (if neither is given), or the previous run."""

    run: Annotated[str, Field(max_length=4096)] | None = None
    back: bool = False
