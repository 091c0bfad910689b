"""Looks at a report's pages in a browser and writes what it sees, one JSON object, for tests/cli/page.bats:
    page_check.py HOME FULL HOSTILE ONE NOTHING MANY REAL"""
import json
import os
import sys

from browser import CONTRAST, Browser, BrowserError, find

home, full, hostile, one, nothing, many, real = sys.argv[1:8]
seen = {}


def look(b):
    b.open(full)
    seen["sections"] = b.run("[...document.querySelectorAll('main > section')].map((s) => s.id).join(' ')")
    seen["interactive"] = b.run("performance.getEntriesByName('interactive')[0].startTime")
    seen["light"] = b.run(CONTRAST)

    # values with units are written as the program writes them
    with open(os.path.join(os.environ["PL_SOURCE"], "tests/unit/support/unit_values.txt"), encoding="utf-8") as f:
        cases = [line.rstrip("\n").split("\t") for line in f]
    shown = b.run("%s.map(([unit, v]) => page.value(unit, Number(v)))" % json.dumps(cases))
    seen["units"] = [[case, text] for case, text in zip(cases, shown) if case[2] != text]
    seen["unit_cases"] = len(cases)

    # the value under the pointer: the series is highest in the middle, 4 CPUs
    at = b.box("#series .plot")
    b.mouse("mouseMoved", at["x"] + at["width"] / 2, at["y"] + at["height"] / 2)
    b.settle()
    seen["tip"] = b.run("document.getElementById('tip').hidden ? '' : document.getElementById('tip').textContent")
    seen["cursors"] = b.run("(() => { const charts = [...document.querySelectorAll('.plot, .bars')];"
                            "const on = charts.filter((c) => { const r = c.getBoundingClientRect();"
                            "return r.bottom > 0 && r.top < innerHeight; });"
                            "return [on.length, on.filter((c) => c.querySelector('.cursor')).length]; })()")

    # dragging over the second quarter makes it the range of all charts
    labels = "[...document.querySelectorAll('.xs')].map((x) => x.textContent)"
    before = b.run(labels)
    values = "[...document.querySelectorAll('.ys')].map((y) => [...y.children].map((t) => t.textContent))"
    axes = b.run(values)
    plots = b.run("document.querySelectorAll('.xs').length")
    b.drag(at["x"] + at["width"] / 4, at["y"] + 40, at["x"] + at["width"] / 2)
    seen["view"] = b.run("[zoom.view.begin - page.begin, zoom.view.end - page.begin]")
    seen["range"] = b.run("document.getElementById('range').textContent")
    for n in range(plots):  # those off the screen are drawn when they come to it
        b.run("document.querySelectorAll('.xs')[%d].scrollIntoView({block: 'center'})" % n)
        b.until("document.querySelectorAll('.xs')[%d].textContent !== %s" % (n, json.dumps(before[n])))
    at = b.box("#series .plot")
    seen["linked"] = len(set(b.run(labels)[:2]))
    b.click(at["x"] + 5, at["y"] + 40)
    for name, act in (("wheel", lambda: b.mouse("mouseWheel", at["x"] + at["width"] / 2, at["y"] + 40, deltaX=0, deltaY=-120)),
                      ("keyed", lambda: b.key("-")), ("panned", lambda: b.key("ArrowRight", shift=True))):
        act()
        b.settle()
        seen[name] = b.run("[zoom.view.begin - page.begin, zoom.view.end - page.begin]")
    closer = b.run(labels)
    b.click(at["x"] + at["width"] / 2, at["y"] + 40, count=2)
    for n in range(plots):
        b.run("document.querySelectorAll('.xs')[%d].scrollIntoView({block: 'center'})" % n)
        b.until("document.querySelectorAll('.xs')[%d].textContent !== %s" % (n, json.dumps(closer[n])))
    seen["axes"] = [[a, z] for a, z in zip(axes, b.run(values)) if a != z]
    seen["reset"] = b.run("[zoom.view.begin - page.begin, zoom.view.end - page.begin, document.getElementById('range').hidden]")

    # the tree: a click looks closer, the buttons change what the width means
    b.box("#flame")
    b.run("document.querySelector('[data-measure=io]').click()")
    b.settle()
    seen["io"] = b.run("document.querySelector('#flame [data-node] text').textContent")
    b.run("document.querySelector('[data-measure=cpu]').click()")
    b.settle()
    width = "document.querySelector('#flame [data-node=\"1\"]').getBoundingClientRect().width"
    seen["narrow"] = b.run(width)
    box = b.box('#flame [data-node="1"]')
    b.click(box["x"] + box["width"] / 2, box["y"] + 8)
    seen["zoomed"] = [b.run(width), b.run("document.querySelectorAll('#flame [data-node]').length"),
                      b.run("document.querySelector('#flame svg').clientWidth")]
    b.run("document.querySelector('#flame svg').focus()")
    b.key("Escape")
    b.key("ArrowDown")
    b.key("ArrowUp")
    b.key("ArrowRight")
    b.key("Enter")
    seen["walked"] = b.run("[...document.querySelectorAll('#flame .hot text')].map((t) => t.textContent)[0]")
    b.key("Escape")
    box = b.box("#gantt svg")
    b.mouse("mouseMoved", box["x"] + box["width"] / 2, box["y"] + 8)
    b.settle()
    seen["bar"] = b.run("document.getElementById('tip').textContent")

    # tables and the search
    b.run("[...document.querySelectorAll('#executables-table th button')].find((x) => x.textContent === 'executable').click()")
    names = "[...document.querySelectorAll('#executables-table tbody tr:not(.folded)')].map((r) => r.cells[0].textContent)"
    seen["sorted"] = b.run(names)
    b.run("(() => { const i = document.getElementById('search'); i.value = 'NCC'; i.dispatchEvent(new Event('input')); })()")
    seen["found"] = b.run(names)
    seen["faded"] = b.run("document.querySelectorAll('#flame .faded').length")
    b.run("document.getElementById('theme').click()")
    seen["theme"] = b.run("getComputedStyle(document.body).backgroundColor")
    seen["console"], seen["requests"] = b.console, [r for r in b.requests if not r.startswith("file://")]

    b.run("try { localStorage.clear() } catch (e) { }")
    b.open(full, dark=True)
    seen["dark"] = b.run(CONTRAST)
    for name, path in (("full", full), ("many", many), ("hostile", hostile), ("nothing", nothing)):
        b.open(path, width=375, height=700)
        seen["width " + name] = b.run("[document.documentElement.scrollWidth, innerWidth]")
        seen["console"] += b.console

    # texts that want to be more
    b.open(hostile)
    b.run("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    for selector in ("#series .plot", "#flame svg", "#gantt svg"):
        at = b.box(selector)
        b.mouse("mouseMoved", at["x"] + at["width"] / 2, at["y"] + 8)
        b.settle()
    b.run("document.querySelectorAll('#processes button').forEach((x) => x.click())")
    seen["hurt"] = b.run("[typeof hurt, document.querySelectorAll('img').length, document.scripts.length,"
                         "document.body.textContent.includes('<script>hurt()<\\/script>'),"
                         "/[\\u202e\\u0001\\u001b]/.test(document.querySelector('main').textContent)]")
    seen["hostile console"] = b.console + [r for r in b.requests if not r.startswith("file://")]
    seen["injected"] = b.run("new Promise((done) => { const s = document.createElement('script');"
                             "s.textContent = 'window.hurtful = 1'; document.body.append(s);"
                             "document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"window.hurtful = 2\">');"
                             "setTimeout(() => done(typeof window.hurtful), 300); })")
    b.open(real)
    seen["real"] = b.run("[typeof hurt, document.querySelectorAll('img').length, document.scripts.length,"
                         "[...document.querySelectorAll('#executables td.t')].map((t) => t.textContent).find((t) => /img/.test(t)),"
                         "document.querySelector('#operations td.t').textContent]") + [b.console]
    for name, path in (("one", one), ("nothing", nothing)):
        b.open(path)
        seen[name] = [b.run("[...document.querySelectorAll('main > section')].map((s) => s.id).join(' ')"), b.console]

    # without scripts
    b.open(full, scripts=False)
    seen["bare"] = bare(b)
    b.open(full, media="print")
    seen["printed"] = b.run("getComputedStyle(document.getElementById('contents')).display")


def bare(b):
    """The page as it is without scripts, asked for through the tree of elements, which needs none."""
    root = b.call("DOM.getDocument")["root"]["nodeId"]

    def count(selector):
        return len(b.call("DOM.querySelectorAll", nodeId=root, selector=selector)["nodeIds"])
    return {s: count(s) for s in ("#theme", ".plot .line", "#flame rect", "#gantt path", "tbody tr", ".finding", ".xs text")}


if not find():
    print("no Chromium")
    sys.exit(77)
try:
    browser = Browser(home)
except (BrowserError, OSError) as e:
    print("Chromium does not start: %s" % e)
    sys.exit(77)
try:
    look(browser)
finally:
    browser.close()
print(json.dumps(seen, indent=1))
