"""A property that is computed once; without the lock of `functools.cached_property`, which costs more than the work."""

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")


class lazy(Generic[T]):  # used like a keyword
    """Keep the first result in the instance, where the next look finds it without coming here."""

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self._compute = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        """Learn the name under which the result is kept."""
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> "lazy[T]": ...

    @overload
    def __get__(self, instance: object, owner: type) -> T: ...

    def __get__(self, instance: object | None, owner: type) -> "T | lazy[T]":
        """Compute and keep."""
        if instance is None:
            return self
        value = instance.__dict__[self._name] = self._compute(instance)
        return value
