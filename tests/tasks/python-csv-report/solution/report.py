"""Makes the report of a shop's export: python3 report.py sales.csv report.csv"""

import csv
import datetime
import sys
from decimal import Decimal


def read_orders(path):
    """For each order that has a paid line: {country, month of its first line, revenue}."""
    orders = {}
    with open(path, encoding="utf-8-sig", newline="") as file:
        for row in csv.DictReader(file, delimiter=";"):
            month = datetime.datetime.strptime(row["date"].strip(), "%d.%m.%Y").strftime("%Y-%m")
            order = orders.setdefault(row["order"], {"country": row["country"].strip().title(), "month": month, "lines": []})
            if row["state"].strip().lower() != "cancelled":
                order["lines"].append(Decimal(row["amount"].replace(".", "").replace(",", ".")))
    return [order for order in orders.values() if order["lines"]]


def main(export, report):
    sums = {}
    for order in read_orders(export):
        entry = sums.setdefault((order["country"], order["month"]), [0, Decimal(0)])
        entry[0] += 1
        entry[1] += sum(order["lines"])
    with open(report, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["country", "month", "orders", "revenue"])
        for (country, month), (n_orders, revenue) in sorted(sums.items()):
            writer.writerow([country, month, n_orders, f"{revenue:.2f}"])


main(*sys.argv[1:])
