"""Counts the words of a text: python3 words.py FILE"""

import sys

counts = {}
for word in open(sys.argv[1]).read().split(" "):
    counts[word] = counts.get(word, 0) + 1
for word in counts:
    print(word, counts[word])
