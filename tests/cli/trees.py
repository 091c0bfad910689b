#!/usr/bin/env python3
"""Random trees of processes for tests/programs/tree.c: trees.py SEED COUNT DIRECTORY.

One tree a line: how many processes it has, then the command. The same seed makes the same trees."""
import random
import sys


class Tree:
    def __init__(self, seed, directory):
        self.random = random.Random(seed)
        self.programs = [f"{directory}/tree", f"{directory}/tree-static"]
        self.processes = 1

    def program(self):
        return self.random.choice(self.programs)

    def burn(self):
        return [f"burn:{self.random.choice([1, 4, 15, 40])}"]

    def sleep(self):
        return [f"sleep:{self.random.choice([1, 10, 30])}"]

    def thread(self):
        return [f"thread:{self.random.choice([2, 10])}"]

    def fork(self, depth):
        n = self.random.choice([1, 1, 2, 3])
        before = self.processes
        steps = self.body(depth - 1)
        self.processes = before + n * (1 + self.processes - before)
        return [f"fork:{n}", "[", *steps, *self.end(), "]"]

    def spawn(self, depth):
        self.processes += 1
        return ["spawn", self.program(), "[", *self.body(depth - 1), *self.end(), "]"]

    def daemon(self, depth):
        self.processes += 2
        return ["daemon", "[", *self.body(depth - 1), "]"]

    def end(self):
        ways = ["kill:9", "kill:15", "exit:3", "raw-exit:4"]
        return [self.random.choice(ways)] if self.random.random() < 0.25 else []

    def body(self, depth):
        leaves = [self.burn, self.burn, self.sleep, self.thread]
        inner = [self.fork, self.fork, self.spawn, self.daemon]
        steps = []
        for _ in range(self.random.randint(1, 3)):
            if depth > 0 and self.random.random() < 0.5:
                steps += self.random.choice(inner)(depth)
            else:
                steps += self.random.choice(leaves)()
        steps.append(self.random.choice(["wait", "wait", "raw-wait"]))
        if self.random.random() < 0.3:
            for _ in range(self.random.randint(1, 2)):
                steps += [f"exec:{self.program()}", *self.burn()]
        return steps


def main():
    seed, count, directory = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    for i in range(count):
        tree = Tree(seed * 100000 + i, directory)
        steps = tree.body(3)
        print(tree.processes, tree.program(), *steps)


main()
