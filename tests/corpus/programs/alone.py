"""alone SECONDS: one thread computes: words are counted and sorted."""
import work

words = {}
i = 0
while work.now() < work.seconds():
    for _ in range(2000):
        i = (i * 1103515245 + 12345) % 65536
        words[i] = words.get(i, 0) + 1
    sorted(words.values())
