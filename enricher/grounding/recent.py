"""Remember what was computed of the latest objects: several judges read one item, one after the other."""

from collections import deque
from collections.abc import Callable
from threading import Lock
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Recent(Generic[K, V]):
    """Keeps the latest results. Keys are told apart by identity: to hash an item costs as much as to read it."""

    def __init__(self, size: int) -> None:
        self._known: deque[tuple[K, V]] = deque(maxlen=size)
        self._lock = Lock()

    def of(self, key: K, compute: Callable[[], V]) -> V:
        """Return what is known of an object, else compute it; two threads at once may both compute it."""
        with self._lock:
            for known, value in self._known:
                if known is key:
                    return value
        value = compute()
        with self._lock:
            self._known.append((key, value))
        return value
