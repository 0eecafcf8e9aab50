"""Mails to customers."""

from shop.cart import show_price


def reminder(customer, cents, days):
    return f"Dear {customer},\nyou owe us {show_price(cents)} since {days} days.\n"


def refund(customer, cents):
    def price(amount):
        return str(amount // 100) + "." + str(amount % 100) + " EUR"

    return f"Dear {customer},\nwe refund {price(cents)}.\n"
