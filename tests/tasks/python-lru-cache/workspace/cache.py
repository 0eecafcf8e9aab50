"""A cache that forgets what was used longest ago, and what is too old."""

import time


class Cache:
    """At most `size` values; each is forgotten `seconds` after it was put in."""

    def __init__(self, size, seconds, clock=time.monotonic):
        self._size = size
        self._seconds = seconds
        self._clock = clock
        self._values = {}

    def put(self, key, value):
        if len(self._values) == self._size:
            del self._values[next(iter(self._values))]
        self._values[key] = (value, self._clock() + self._seconds)

    def get(self, key, default=None):
        found = self._values.get(key)
        if not found:
            return default
        value, until = found
        if self._clock() > until:
            return default
        return value or default

    def __len__(self):
        return len(self._values)
