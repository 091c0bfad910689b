"""Runs the code cells of notebooks one after the other, as Jupyter would, and saves the figures of each cell.

    run_notebook.py DIRECTORY NOTEBOOK...     figures are DIRECTORY/NOTEBOOK-CELL.png

Prints a line per figure: notebook, cell, title, number of things drawn. An exception ends it.
"""
import ast
import json
import os
import sys

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt  # noqa: E402


def run(cell, names):
    """A last expression is displayed."""
    tree = ast.parse("".join(cell["source"]))
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, cell["id"], "exec"), names)
    if last:
        value = eval(compile(ast.Expression(last.value), cell["id"], "eval"), names)
        if value is not None:
            names["display"](value)


def main(directory, files):
    for file in files:
        name = os.path.splitext(os.path.basename(file))[0]
        with open(file, encoding="utf-8") as f:
            cells = json.load(f)["cells"]
        names = {"__name__": "__main__", "display": lambda value: print(f"{name}: {str(value)[:2000]}")}
        for cell in cells:
            if cell["cell_type"] != "code":
                continue
            run(cell, names)
            for number in plt.get_fignums():
                figure = plt.figure(number)
                path = os.path.join(directory, f"{name}-{cell['id']}.png")
                figure.savefig(path, dpi=80)
                ax = figure.axes[0]
                drawn = len(ax.patches) + len(ax.lines) + len(ax.collections)
                print(f"figure {name} {cell['id']} {drawn} {ax.get_title(loc='left')}")
                plt.close(figure)


main(sys.argv[1], sys.argv[2:])
