"""Lines for the accounting. Numbers there are plain: no separators, no currency."""

from shop import invoice


def line(customer, cents):
    return f"{customer};{cents / 100:.2f};{invoice._fmt(cents)}"
