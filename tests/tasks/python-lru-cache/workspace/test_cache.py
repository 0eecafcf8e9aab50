import unittest

from cache import Cache


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


class CacheTest(unittest.TestCase):
    def setUp(self):
        self.clock = Clock()
        self.cache = Cache(2, 10, self.clock)

    def test_value_is_found(self):
        self.cache.put("a", 1)
        self.assertEqual(self.cache.get("a"), 1)
        self.assertEqual(self.cache.get("b", "none"), "none")

    def test_what_was_used_longest_ago_goes_first(self):
        self.cache.put("a", 1)
        self.cache.put("b", 2)
        self.cache.get("a")
        self.cache.put("c", 3)
        self.assertEqual([self.cache.get(key) for key in "abc"], [1, None, 3])

    def test_replacing_a_value_removes_no_other(self):
        self.cache.put("a", 1)
        self.cache.put("b", 2)
        self.cache.put("b", 3)
        self.assertEqual([self.cache.get(key) for key in "ab"], [1, 3])

    def test_value_is_too_old_at_its_end(self):
        self.cache.put("a", 1)
        self.clock.now = 10.0
        self.assertIsNone(self.cache.get("a"))


if __name__ == "__main__":
    unittest.main()
