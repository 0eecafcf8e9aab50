"""Invoices as text."""


def _fmt(cents):
    sign = "-" if cents < 0 else ""
    return f"{sign}{abs(cents) // 100:,}.{abs(cents) % 100:02d} EUR"


def invoice(customer, lines):
    """The invoice on lines (article, count, cents of one)."""
    text = [f"Invoice for {customer}"]
    for article, count, cents in lines:
        text.append(f"{count:3d} x {article:<20}{_fmt(count * cents):>16}")
    text.append(f"{'Sum':<26}{_fmt(sum(count * cents for _, count, cents in lines)):>16}")
    return "\n".join(text)
