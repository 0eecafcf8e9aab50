import os
import time
import unittest

from report import report

os.environ["TZ"] = "CET-1CEST,M3.5.0,M10.5.0/3"
time.tzset()


class ReportTest(unittest.TestCase):
    def test_days_in_winter(self):
        self.assertEqual(
            report(["2025-01-10 08:00", "2025-01-10 23:30", "2025-01-12 07:00"]),
            {"days": {"2025-01-10": 2, "2025-01-11": 0, "2025-01-12": 1}, "hours": 47.0},
        )


if __name__ == "__main__":
    unittest.main()
