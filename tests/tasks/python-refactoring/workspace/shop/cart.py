"""The cart of a visitor."""


def show_price(cents):
    return "%.2f EUR" % (cents / 100)


class Cart:
    def __init__(self):
        self.lines = []

    def add(self, article, cents):
        self.lines.append((article, cents))

    def summary(self):
        total = sum(cents for _, cents in self.lines)
        return f"{len(self.lines)} articles, {show_price(total)}"
