"""Evaluates arithmetic expressions by recursive descent; the depth is limited."""

import re

DEPTH_MAX = 100
NUMBER = re.compile(r"[0-9]+(\.[0-9]+)?|\.[0-9]+")


class Error(ValueError):
    """The expression is invalid; `at` is the index of the first character that does not fit."""

    def __init__(self, message, at):
        super().__init__(f"{message} at {at}")
        self.at = at


class Parser:
    def __init__(self, text):
        self.text = text
        self.at = 0
        self.depth = 0

    def peek(self):
        while self.text[self.at : self.at + 1].isspace():
            self.at += 1
        return self.text[self.at : self.at + 1]

    def refuse(self):
        raise Error("unexpected input" if self.peek() else "unexpected end", self.at)

    def deeper(self, parse):
        self.depth += 1
        if self.depth > DEPTH_MAX:
            raise Error("too deep", self.at)
        value = parse()
        self.depth -= 1
        return value

    def sum(self):
        value = self.product()
        while self.peek() in ("+", "-"):
            sign = self.take()
            other = self.product()
            value = value + other if sign == "+" else value - other
        return value

    def product(self):
        value = self.signed()
        while self.peek() in ("*", "/"):
            at = self.at
            operator = self.take()
            other = self.signed()
            if operator == "/" and other == 0:
                raise Error("division by zero", at)
            value = value * other if operator == "*" else value / other
        return value

    def signed(self):
        if self.peek() in ("+", "-"):
            sign = self.take()
            value = self.deeper(self.signed)
            return -value if sign == "-" else value
        return self.power()

    def power(self):
        base = self.primary()
        if self.peek() != "^":
            return base
        at = self.at
        self.take()
        exponent = self.deeper(self.signed)
        try:
            return base**exponent
        except ArithmeticError as error:
            raise Error(str(error), at) from error

    def primary(self):
        if self.peek() == "(":
            self.take()
            value = self.deeper(self.sum)
            if self.peek() != ")":
                self.refuse()
            self.take()
            return value
        found = NUMBER.match(self.text, self.at)
        if found is None:
            self.refuse()
        self.at = found.end()
        return float(found[0]) if "." in found[0] else int(found[0])

    def take(self):
        self.at += 1
        return self.text[self.at - 1]


def evaluate(text):
    """The value of an expression; raises Error."""
    parser = Parser(text)
    value = parser.sum()
    if parser.peek():
        parser.refuse()
    return value
