import unittest

from shop.cart import Cart
from shop.export import line
from shop.invoice import invoice
from shop.mail import refund, reminder


class ShopTest(unittest.TestCase):
    def test_invoice(self):
        text = invoice("Ann", [("Chair", 2, 61725), ("Discount", 1, -5)])
        self.assertEqual(text.splitlines()[1], "  2 x Chair                   1,234.50 EUR")
        self.assertEqual(text.splitlines()[2], "  1 x Discount                   -0.05 EUR")

    def test_cart(self):
        cart = Cart()
        cart.add("Chair", 123450)
        self.assertEqual(cart.summary(), "1 articles, 1234.50 EUR")

    def test_mails(self):
        self.assertEqual(reminder("Ann", 500, 3), "Dear Ann,\nyou owe us 5.00 EUR since 3 days.\n")
        self.assertEqual(refund("Ann", 105), "Dear Ann,\nwe refund 1.5 EUR.\n")

    def test_export(self):
        self.assertEqual(line("Ann", 123450), "Ann;1234.50;1,234.50 EUR")


if __name__ == "__main__":
    unittest.main()
