"""Prints what the functions of EPMT's modules are: `epmt help api [FUNCTION ...]`."""

import csv
import difflib
import importlib
import inspect
import os
import sys

MODULES = ["epmt_query", "epmt_outliers", "epmt_exp_explore", "epmt_stat", "epmtlib"]


def table():
    """The rows of api.tsv: module, function, ours."""
    with open(os.path.join(os.path.dirname(__file__), "api.tsv"), encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def text_of(function):
    """A docstring: its first line without the topic, the topic, and the rest."""
    first, _, rest = inspect.getdoc(function).partition("\n")
    line, _, topic = first.partition("::")
    return line, topic, rest.strip("\n")


def functions():
    """{name: (module, function, ours)} of the table."""
    found = {}
    for row in table():
        module = importlib.import_module("epmt." + row["module"])
        found[row["function"]] = (row["module"], getattr(module, row["function"]), row["ours"])
    return found


def print_index():
    known = functions()
    for name in MODULES:
        module = importlib.import_module("epmt." + name)
        print(f"{name}: {inspect.getdoc(module).splitlines()[0]}")
        topics = {}
        for function, (where, call, _) in known.items():
            if where == name:
                line, topic, _ = text_of(call)
                topics.setdefault(topic, []).append((function, line))
        for topic, rows in topics.items():
            print(f"\n  {topic}")
            for function, line in sorted(rows):
                print(f"    {function:30} {line}")
        print()
    print("`epmt help api FUNCTION` explains one.")


def print_function(name, entry):
    module, call, ours = entry
    line, topic, rest = text_of(call)
    print(f"from epmt.{module} import {name}\n\n{name}{inspect.signature(call)}\n\n    {line}.")
    if rest:
        print("\n" + "\n".join("    " + text if text else "" for text in rest.splitlines()))
    print(f"\n    Topic: {topic}\n    Ours:  {ours}\n")


def main(names):
    if not names:
        print_index()
        return 0
    known, status = functions(), 0
    for name in names:
        name = name.rpartition(".")[2]
        if name in known:
            print_function(name, known[name])
            continue
        near = difflib.get_close_matches(name, known, 3, 0.5)
        hint = f"; did you mean {', '.join(near)}?" if near else "; `epmt help api` lists the functions"
        print(f"ERROR:epmt_cmds:there is no function '{name}'{hint}", file=sys.stderr)
        status = 1
    return status


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.exit(1)
