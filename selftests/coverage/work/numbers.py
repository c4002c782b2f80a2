# SPDX-License-Identifier: GPL-2.0
# numbers - the same work in every language: see numbers.expected.
import hashlib
import math
import re
import sys


def primes(limit):
    composite = bytearray(limit)
    for i in range(2, math.isqrt(limit) + 1):
        if not composite[i]:
            for j in range(i * i, limit, i):
                composite[j] = 1
    return [i for i in range(2, limit) if not composite[i]]


def words(number):
    seed = 1
    for _ in range(number):
        seed = seed * 16807 % 2147483647
        yield f"w{seed % 1000}"


def factorial(n):
    digits = [1]
    for factor in range(2, n + 1):
        carry = 0
        for i, digit in enumerate(digits):
            carry += digit * factor
            digits[i] = carry % 10
            carry //= 10
        while carry:
            digits.append(carry % 10)
            carry //= 10
    return digits


found = primes(20000)
print("primes", len(found), sum(found))
count = {}
for word in words(20000):
    count[word] = count.get(word, 0) + 1
order = sorted(count, key=lambda word: (-count[word], word))
print("words", len(order), " ".join(f"{word}={count[word]}" for word in order[:3]))
text = ",".join(f"{word}={count[word]}" for word in order)
print("sha256", hashlib.sha256(text.encode()).hexdigest())
print("doubled", len(re.findall(r"w(\d)\1=", text)))
print("factorial", len(factorial(200)), sum(factorial(200)))
print("roots", "%.6f" % sum(math.sqrt(i) for i in range(1, 10001)))
caught = 0
for i in range(1000):
    try:
        if i % 7 == 0:
            raise ValueError(i)
    except ValueError:
        caught += 1
print("caught", caught)
print("done", flush=True)
sys.stdin.read()
