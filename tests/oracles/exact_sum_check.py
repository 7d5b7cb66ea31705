"""exact_sum_check.py PROGRAM: the oracle of exact sums against rational arithmetic.

Cases are made here, PROGRAM (exact_sum_answers.cpp) answers them, and `fractions` says what is right.
"""
import random
import subprocess
import sys
from fractions import Fraction


class Format:
    def __init__(self, name, exponent_bits, mantissa_bits):
        self.name, self.mantissa_bits = name, mantissa_bits
        self.greatest_field = 2 ** exponent_bits - 1
        self.infinity = self.greatest_field << mantissa_bits
        self.sign = 1 << exponent_bits + mantissa_bits
        self.least_exponent = 2 - 2 ** (exponent_bits - 1) - mantissa_bits

    def value(self, bits):
        """A Fraction, or 'nan', '+' and '-' for what is not finite."""
        magnitude, sign = bits & ~self.sign, -1 if bits & self.sign else 1
        if magnitude > self.infinity:
            return "nan"
        if magnitude == self.infinity:
            return "+" if sign > 0 else "-"
        field, mantissa = magnitude >> self.mantissa_bits, magnitude % 2 ** self.mantissa_bits
        significand = mantissa + (2 ** self.mantissa_bits if field else 0)
        return sign * significand * Fraction(2) ** (self.least_exponent + max(field, 1) - 1)

    def rounded(self, value):
        """The bits of the nearest number, ties to even."""
        if value == 0:
            return 0
        sign, value = (self.sign if value < 0 else 0), abs(value)
        exponent = value.numerator.bit_length() - value.denominator.bit_length()  # of the leading bit, or one more
        if value < Fraction(2) ** exponent:
            exponent -= 1
        last = max(exponent - self.mantissa_bits, self.least_exponent)
        significand = round(value / Fraction(2) ** last)  # Python rounds a Fraction's ties to even
        # Denormals and normal numbers follow each other as integers do; so do the binades.
        bits = significand + (last - self.least_exponent << self.mantissa_bits)
        return sign | min(bits, self.infinity)


FORMATS = [Format("f16", 5, 10), Format("bf16", 8, 7), Format("f32", 8, 23), Format("f64", 11, 52)]


def expected(operation, of, to, items):
    """The bits of the result, or 'nan'."""
    values = [of.value(item) for item in items]
    terms = values if operation == "sum" else [product(a, b) for a, b in zip(values[::2], values[1::2])]
    special = {term for term in terms if isinstance(term, str)}
    if "nan" in special or special == {"+", "-"}:
        return "nan"
    if special:
        return to.infinity | (to.sign if "-" in special else 0)
    return to.rounded(sum(terms, Fraction(0)))


def product(a, b):
    if not isinstance(a, str) and not isinstance(b, str):
        return a * b
    if "nan" in (a, b) or 0 in (a, b):
        return "nan"
    negative = [x == "-" if isinstance(x, str) else x < 0 for x in (a, b)]
    return "-" if negative[0] != negative[1] else "+"


def number(of, field, mantissa, sign=0):
    return (of.sign if sign else 0) | field << of.mantissa_bits | mantissa


def random_items(of, count):
    """Of one of several kinds, all finite."""
    ones = 2 ** of.mantissa_bits - 1
    middle, top = of.greatest_field // 2, of.greatest_field - 1
    kind = random.choice(["bits", "near", "narrow", "denormal", "greatest", "cancelling", "powers", "border"])

    def one():
        mantissa, sign = random.randint(0, ones), random.getrandbits(1)
        if kind == "near":
            return number(of, random.randint(max(1, middle - 10), min(top, middle + 10)), mantissa, sign)
        if kind == "narrow":
            return number(of, middle, mantissa, sign)
        if kind == "denormal":
            return number(of, 0, mantissa, sign)
        if kind == "greatest":
            return number(of, random.randint(top - 2, top), random.choice([mantissa, 0, ones]), sign)
        if kind == "powers":
            return number(of, random.randint(0, top), random.choice([0, 0, 1, ones]), sign)
        if kind == "border":
            return number(of, random.randint(0, 2), random.choice([0, 1, ones, mantissa]), sign)
        return number(of, random.randint(0, top), mantissa, sign)

    items = [one() for _ in range(count)]
    if kind == "cancelling":
        items += [item ^ of.sign for item in items] + [one()]
        random.shuffle(items)
    return items


def in_items(of, significand, exponent):
    """significand * 2^exponent as items whose sum it is; None where they are out of range."""
    sign, significand, items = significand < 0, abs(significand), []
    while significand:
        part = significand & (2 << of.mantissa_bits) - 1
        bits = of.rounded(part * Fraction(2) ** exponent)
        if bits >= of.infinity or of.value(bits) != part * Fraction(2) ** exponent:
            return None
        items.append(bits | (of.sign if sign else 0))
        significand >>= of.mantissa_bits + 1
        exponent += of.mantissa_bits + 1
    return items


def halfway_cases():
    """Sums beside numbers of every result's format, at every border, by parts of the last place."""
    for to in FORMATS:
        ones = 2 ** to.mantissa_bits - 1
        for field in (0, 1, 2, to.greatest_field // 2, to.greatest_field - 1):
            last = to.least_exponent + max(field, 1) - 1
            for mantissa in (0, 1, 2, 3, ones - 1, ones):
                significand = mantissa + (2 ** to.mantissa_bits if field else 0)
                for rest, rest_exponent in ((1, -1), (-1, -1), (1, -2), (3, -2)):
                    for sticky in (0, 1, -1):
                        for of in FORMATS:
                            for sign in (1, -1):
                                least = random.choice([of.least_exponent, last - 30, last - 3])
                                items = [in_items(of, sign * significand, last),
                                         in_items(of, sign * rest, last + rest_exponent),
                                         in_items(of, sign * sticky, least)]
                                if None not in items:
                                    yield "sum", of, to, sum(items, [])


def special_cases():
    """What is not finite or not positive, alone and in pairs; nothing at all."""
    for of in FORMATS:
        special = [0, of.sign, 1, of.infinity, of.infinity | of.sign, of.infinity + 1, of.infinity - 1,
                   of.sign | of.infinity - 1, number(of, of.greatest_field // 2, 0)]
        for to in FORMATS:
            for operation in ("sum", "dot"):
                yield operation, of, to, []
            for a in special:
                yield "sum", of, to, [a]
                for b in special:
                    yield "sum", of, to, [a, b]
                    yield "dot", of, to, [a, b]
                    yield "dot", of, to, [a, b, special[-1], of.infinity]


def random_cases(count):
    for _ in range(count):
        of, to = random.choice(FORMATS), random.choice(FORMATS)
        items = random_items(of, random.choice([1, 2, 3, 10, 60]))
        if random.random() < 0.5:
            yield "sum", of, to, items
            continue
        others = random_items(of, len(items))
        yield "dot", of, to, [item for pair in zip(items, others) for item in pair]


def main(program):
    random.seed(31)
    cases = list(special_cases()) + list(halfway_cases()) + list(random_cases(6000))
    lines = [" ".join([operation, of.name, to.name] + ["%x" % item for item in items])
             for operation, of, to, items in cases]
    answers = subprocess.run([program], input="\n".join(lines) + "\n", capture_output=True, text=True,
                             check=True).stdout.split()
    if len(answers) != len(cases):
        sys.exit(f"{len(cases)} cases, {len(answers)} answers")
    wrong = 0
    for line, (operation, of, to, items), answer in zip(lines, cases, answers):
        right = expected(operation, of, to, items)
        found = int(answer, 16)
        if found & ~to.sign > to.infinity if right == "nan" else found == right:
            continue
        wrong += 1
        if wrong <= 10:
            print(f'{line[:200]}: {answer}, not {right if right == "nan" else "%x" % right}')
    # Python's own division of integers is rounded once, too.
    f64 = FORMATS[3]
    for operation, of, to, items in cases:
        if to is f64 and operation == "sum" and all(not isinstance(of.value(item), str) for item in items):
            exact = sum((of.value(item) for item in items), Fraction(0))
            try:
                by_python = float(exact)
            except OverflowError:
                continue
            assert f64.value(f64.rounded(exact)) == Fraction(by_python)
    print(f"{len(cases)} cases, {wrong} wrong")
    return wrong != 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
