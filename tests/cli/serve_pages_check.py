"""Looks at the pages of `plimsoll serve` with one Chromium and prints what it saw as JSON.

    serve_pages_check.py HOME STORE NODES HOST

Starts the server itself, ends it, starts it again at the same port, takes the store away and brings it back; then a
collector that delivers to the store NODES, and a node of the name HOST. 77: there is no browser that starts here.
"""
import json
import os
import re
import signal
import subprocess
import sys
import time

import browser

home, store, node_store, node_host = sys.argv[1:5]
seen = {}


class Server:
    def __init__(self, *options, port=0, of=store):
        self.process = subprocess.Popen(
            ["plimsoll", "serve", "--db", of, "--listen", "127.0.0.1:%d" % port, *options],
            stdout=subprocess.PIPE, text=True)
        self.link = self.process.stdout.readline().strip()
        self.base = re.match(r"http://[^/]+", self.link).group()
        self.port = int(self.base.rsplit(":", 1)[1])

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(timeout=20)
        self.process.stdout.close()
        return status


TEXT = "(document.querySelector(%s)?.innerText ?? null)"
ROWS = "[...document.querySelectorAll('.joblist tbody tr')].length"
IDS = "[...document.querySelectorAll('.joblist tbody tr')].map((r) => r.querySelector('a').textContent)"
TILES = "Object.fromEntries([...document.querySelectorAll('.tiles .figure')].map((f) => " \
        "[f.querySelector('dt').textContent, f.querySelector('dd').textContent]))"
READY = "!document.querySelector('[aria-busy], .loading, .stale')"
LINKS = "[...document.querySelectorAll('#pages a')].map((a) => a.textContent)"


def text(b, selector):
    return b.run(TEXT % json.dumps(selector))


class Pages:
    """Opens pages of one server, and keeps what they say on the console."""

    def __init__(self, b, base):
        self.b, self.base, self.said, self.elsewhere = b, base, [], []

    def keep(self):
        self.said += self.b.console
        self.elsewhere += [u for u in self.b.requests if not u.startswith((self.base + "/", "data:", "blob:"))]
        self.b.console, self.b.requests = [], []

    def open(self, path, until, **how):
        self.keep()
        self.b.visit(self.base + path, **how)
        self.b.until("Boolean(%s)" % until)
        self.b.settle()


def fill_in(b, selector, value):
    b.run("(() => { const e = document.querySelector(%s); e.focus(); e.value = %s;"
          "e.dispatchEvent(new Event('input', {bubbles: true})); e.dispatchEvent(new Event('change', {bubbles: true})); })()"
          % (json.dumps(selector), json.dumps(value)))


def drag_over(b, selector, a, z):
    """Drags a rectangle over an element: from and to as parts of its width and height."""
    at = b.box(selector)
    points = [(at["x"] + at["width"] * x, at["y"] + at["height"] * y) for x, y in (a, ((a[0] + z[0]) / 2, (a[1] + z[1]) / 2), z)]
    b.mouse("mouseMoved", *points[0])
    b.mouse("mousePressed", *points[0], button="left", buttons=1, clickCount=1)
    for point in points[1:]:
        b.mouse("mouseMoved", *point, button="left", buttons=1)
    b.mouse("mouseReleased", *points[-1], button="left", clickCount=1)
    b.settle()


def look_at_jobs(b, pages):
    pages.open("/", ROWS + " === 50")
    b.until("document.querySelector('.tiles dd').textContent !== '\u2013'")
    seen["navigation"] = b.run(LINKS)
    seen["tiles"] = b.run(TILES)
    seen["range"] = text(b, "#range-shown")
    first = b.run(IDS)

    # the next page and back
    b.run("document.getElementById('next').click()")
    b.until("%s[0] !== %s" % (IDS, json.dumps(first[0])))
    seen["next"] = [text(b, "#range-shown"), len(set(first) & set(b.run(IDS)))]
    b.run("history.back()")
    b.until("%s[0] === %s" % (IDS, json.dumps(first[0])))

    # quick filters and a filter, which are in the link
    labels = "[...document.querySelectorAll('#filter label')].find((l) => l.textContent === %s).htmlFor"
    user, status = (b.run(labels % json.dumps(name)) for name in ("User", "Status"))
    fill_in(b, "#" + user, "nobody-at-all")
    b.until("Boolean(document.querySelector('.empty'))")
    seen["nothing"] = text(b, ".empty-title")
    fill_in(b, "#" + user, "")
    b.until(ROWS + " === 50")
    fill_in(b, "#" + status, "failed")
    b.until("[...document.querySelectorAll('.joblist .status')].every((s) => s.classList.contains('failed'))")
    seen["failed"] = b.run("[...new Set([...document.querySelectorAll('.joblist .status')].map((s) => getComputedStyle(s).color))]")
    seen["failed range"] = text(b, "#range-shown")
    fill_in(b, "#" + status, "")
    where = b.run(labels % json.dumps("Filter"))
    fill_in(b, "#" + where, "jobid ~ known*")
    b.until(ROWS + " === 2")
    seen["filtered"] = sorted(b.run(IDS))
    seen["link"] = b.run("new URLSearchParams(location.search).get('where')")
    pages.open(b.run("location.pathname + location.search"), ROWS + " === 2")
    seen["reloaded"] = b.run("document.getElementById(%s).value" % json.dumps(where))
    seen["cells"] = b.run("[...document.querySelectorAll('.joblist tbody tr')].map((r) => [...r.cells].slice(1).map((c) => c.innerText))"
                          ".find((r) => r[0] === 'known-good')")
    b.run("document.querySelector('[aria-pressed]').click()")
    b.until("document.querySelector('.joblist thead').innerText.includes('Duration (us)')")
    seen["raw"] = b.run("[...document.querySelectorAll('.joblist tbody tr')].map((r) => [...r.cells].slice(1).map((c) => c.innerText))"
                        ".find((r) => r[0] === 'known-good')[6]")
    pages.keep()

    # columns, order and dates
    b.run("[...document.querySelectorAll('#jobs .menu label')].find((l) => l.textContent === 'Threads').querySelector('input').click()")
    b.until("document.querySelector('.joblist thead').innerText.includes('Threads')")
    seen["columns"] = b.run("new URLSearchParams(location.search).get('columns').includes('num_threads')")
    pages.open("/", ROWS + " === 50")
    b.run("[...document.querySelectorAll('.joblist th button')].find((th) => th.textContent === 'Duration').click()")
    b.until("document.querySelector('.joblist th[aria-sort=descending]')?.textContent === 'Duration' && " + READY)
    seen["longest"] = b.run(IDS + "[0]")
    day = b.run("document.querySelector('.joblist').innerText.match(/\\d{4}-\\d\\d-\\d\\d/)[0]")
    pages.open("/?from=%s&to=%s" % (day, day), "document.querySelector('.joblist tbody tr')")
    b.until("document.getElementById('range-shown').textContent.includes(' of ')")
    seen["day"] = [day, text(b, "#range-shown").split(" of ")[1]]
    pages.open("/?status=running", "document.querySelector('.joblist .status.running')")
    seen["running mark"] = b.run("getComputedStyle(document.querySelector('.joblist .status.running'), '::before').animationName")
    b.call("Emulation.setEmulatedMedia", media="", features=[{"name": "prefers-reduced-motion", "value": "reduce"}])
    seen["still"] = b.run("getComputedStyle(document.querySelector('.joblist .status.running'), '::before').animationName")
    pages.open("/?where=jobid+~+known*", ROWS + " === 2")

    # a filter that cannot be read
    fill_in(b, "#" + where, "duration >")
    b.until("Boolean(document.querySelector('#job-table [role=alert]'))")
    seen["bad filter"] = text(b, "#job-table [role=alert]")
    b.until("!document.querySelector('.tiles .figure')")
    seen["bad filter said"] = b.run("[document.querySelectorAll('[role=alert]').length, document.querySelector('#range-shown').textContent]")
    b.console = [line for line in b.console if "a status of 400" not in line]
    pages.keep()

    # keys: the first job, and Enter opens it
    pages.open("/?where=jobid+~+known*&sort=jobid", ROWS + " === 2")
    b.key("j")
    b.key("j")
    b.key("k")
    seen["at"] = b.run("document.querySelector('.joblist tr.at a').textContent")
    b.key("/")
    seen["focus"] = b.run("document.activeElement.id === %s" % json.dumps(where))


def look_at_job(b, pages):
    pages.open("/job/known-good", "document.querySelector('#report')?.dataset.round === '1'")
    seen["title"] = text(b, "h1")
    seen["status"] = text(b, "#job-status")
    seen["sections"] = b.run("[...document.querySelectorAll('.sections > section')].map((s) => s.id)")
    seen["figures"] = b.run("Object.fromEntries([...document.querySelectorAll('#figures .figure')].map((f) => "
                            "[f.querySelector('dt').textContent, f.querySelector('dd').textContent]))")
    seen["contents"] = b.run("[...document.querySelectorAll('#contents a')].every((a) => document.querySelector(a.hash))")
    at = b.box("#series .plot")
    b.mouse("mouseMoved", at["x"] + at["width"] / 2, at["y"] + at["height"] / 2)
    seen["tip"] = b.run("document.getElementById('tip').hidden")
    b.drag(at["x"] + at["width"] / 4, at["y"] + 40, at["x"] + at["width"] / 2)
    seen["zoomed"] = b.run("!document.getElementById('range').hidden")
    b.run("document.getElementById('process-list').scrollIntoView()")
    b.until("document.querySelectorAll('#process-list tbody tr').length > 1")
    seen["processes"] = b.run("document.querySelectorAll('#process-list tbody tr').length")
    b.run("document.querySelector('#process-list tbody button').click()")
    b.until("document.querySelectorAll('#thread-list tbody tr').length > 0")
    pid = text(b, "#process-list tbody button")
    seen["process"] = [text(b, "#thread-list h3") == "Process %s, sh" % pid,
                       b.run("[...document.querySelectorAll('#thread-list .facts dt')].map((d) => d.textContent).slice(0, 4)")]
    # a click on a process over time, the last of three sleeps, shows another one
    b.run("document.getElementById('process-list').scrollIntoView()")
    at = b.box("#gantt .bars")
    b.click(at["x"] + at["width"] * 0.85, at["y"] + at["height"] * 0.75)
    b.until("document.querySelector('#thread-list h3')?.textContent.endsWith(', sleep')")
    seen["clicked"] = b.run("[...document.querySelectorAll('#thread-list .facts dt')].find((d) => d.textContent === 'Parent')"
                            ".nextSibling.textContent") == pid
    seen["exports"] = b.run("[...document.querySelectorAll('.job-head .menu a')].map((a) => new URL(a.href).search)")

    # an annotation is added, saved, and there after a reload
    b.run("document.getElementById('edit').scrollIntoView()")
    b.until("Boolean(document.getElementById('edit-annotations'))")
    b.run("document.querySelector('#edit-annotations button[type=button]:not([aria-label])').click()")
    b.run("(() => { const row = document.querySelector('#edit-annotations tbody tr:last-child');"
          "row.querySelector('.key').value = 'checked'; row.querySelector('.value').value = '{\"by\": [1, \"<b>\"]}';"
          "document.getElementById('edit-annotations').requestSubmit(); })()")
    b.until("document.querySelector('#edit-annotations .said').textContent === 'Saved.'")
    pages.open("/job/known-good?again", "document.querySelector('#edit-annotations .value')")
    seen["annotation"] = b.run("[...document.querySelectorAll('#edit-annotations .value')].map((e) => e.value)")
    pages.keep()

    pages.open("/job/no-such-job", "document.querySelector('#job-head [role=alert]')")
    seen["missing"] = text(b, "#job-head [role=alert] h3")
    b.until("!document.querySelector('#report').firstChild")
    seen["missing said"] = b.run("document.querySelectorAll('[role=alert]').length")
    b.console = [line for line in b.console if "a status of 404" not in line]
    pages.keep()


def look_at_running(b, pages):
    """A job that begins while the list is looked at, and ends while its own page is."""
    pages.open("/", ROWS + " === 50")
    job = subprocess.Popen(["plimsoll", "run", "-q", "--submit", "--sample", "100ms", "-j", "live", "--", "sh", "-c",
                            "for i in $(seq 12); do sleep 0.5; done"])
    begin = time.monotonic()
    b.until("document.querySelector('#running a')?.textContent === 'live'")
    seen["in the list after"] = time.monotonic() - begin
    pages.open("/job/live", "document.querySelector('#report')?.dataset.round && document.querySelector('#live').textContent")
    seen["while it runs"] = [text(b, "#job-status"), text(b, "#live"), text(b, "#advice .empty-title")]
    b.until("Number(document.querySelector('#report').dataset.round) > 2")  # it grows
    b.until("document.querySelector('#job-status').textContent === 'completed'")
    b.until("[...document.querySelectorAll('#figures .figure')].some((f) => f.textContent.startsWith('Processes14'))")
    job.wait(timeout=30)
    seen["at its end"] = [text(b, "#job-status"), text(b, "#live")]
    pages.keep()


def look_at_others(b, pages):
    pages.open("/compare?a=known-bad&b=known-good&with_failed=1", "document.querySelector('#metrics tbody tr')")
    seen["compare"] = [text(b, ".finding h3"), b.run("document.querySelector('#metrics tbody td').textContent")]
    pages.open("/compare?view=scatter&where=jobid+~+known*", "document.querySelectorAll('.dots circle').length === 2")
    drag_over(b, ".plane", (0.03, 0.05), (0.98, 0.88))
    seen["chosen"] = [text(b, "#scatter h3"), b.run("[...document.querySelectorAll('#chosen a')].map((a) => a.textContent)")]
    b.run("document.querySelector('#chosen a').click()")
    b.wait("Page.loadEventFired")
    b.until(ROWS + " === 2")
    seen["chosen jobs"] = sorted(b.run(IDS))
    look_at_compared(b, pages)
    pages.open("/compare?view=scatter", "document.querySelectorAll('.dots circle').length > 100")
    pages.open("/compare?view=history&job=known-good", "document.querySelector('.dots circle')")
    seen["history"] = text(b, "#page > div p")
    pages.open("/experiments", "document.querySelector('#all tbody tr')")
    seen["experiments"] = b.run("document.querySelectorAll('#all tbody tr').length")
    b.run("document.querySelector('#all tbody a').click()")
    b.wait("Page.loadEventFired")
    b.until("Boolean(document.querySelector('#groups tbody tr'))")
    seen["experiment"] = b.run("document.querySelectorAll('.strip a').length > 0")
    # experiment, component, job, operation
    pages.open("/experiments?experiment=checked", "document.querySelector('#groups tbody a')")
    for selector in ("#groups tbody a", "#group tbody a"):
        b.run("document.querySelector(%s).click()" % json.dumps(selector))
        b.wait("Page.loadEventFired")
        b.until("Boolean(document.querySelector('#group tbody a, #operations tbody td'))")
    seen["operation"] = b.run("[...document.querySelector('#operations tbody tr').cells].slice(0, 2).map((c) => c.textContent)")
    seen["trail"] = b.run("[...document.querySelectorAll('.trail li')].map((l) => l.textContent)")
    pages.open("/models", "document.querySelector('table tbody tr')")
    seen["model"] = text(b, "tbody td")
    pages.open("/models?model=norm&where=jobid+~+known*", "document.querySelector('#analysis tbody tr') && document.querySelector('#model')")
    pages.open("/alerts?all=1", "document.querySelector('.empty, tbody tr')")
    pages.open("/inbox", "document.querySelector('tbody tr')")
    seen["inbox"] = b.run("[0, 3].map((i) => document.querySelector('tbody tr').cells[i].textContent)")
    pages.open("/nodes", "document.querySelector('.empty')")
    seen["nodes"] = text(b, ".empty-title")
    pages.open("/sql?sql=select+jobid,processes+from+jobs+where+jobid+like+'known%25'+order+by+1", "document.querySelector('#rows tbody tr')")
    seen["sql"] = b.run("[...document.querySelectorAll('#rows tbody tr')].map((r) => [...r.cells].map((c) => c.textContent))")
    seen["schema"] = b.run("[...document.querySelectorAll('aside summary')].map((s) => s.textContent).slice(0, 2)")
    pages.keep()
    pages.open("/sql?sql=delete+from+jobs", "document.querySelector('#rows [role=alert]')")
    seen["sql refused"] = text(b, "#rows [role=alert]")
    b.console = [line for line in b.console if "a status of 400" not in line]
    pages.keep()


def look_at_compared(b, pages):
    """Curves with one zoom, jobs over time by a tag, box plots against a model."""
    pages.open("/compare?view=curves&a=known-good&b=other", "document.querySelectorAll('.plot .line').length > 3")
    labels = "[...document.querySelectorAll('.xs')].map((x) => x.textContent)"
    seen["curves"] = b.run("[...document.querySelectorAll('.chart')][0].querySelector('.legend').innerText.split('\\n')")
    seen["curves end"] = b.run("page.end")
    before = b.run(labels)
    drag_over(b, ".plot", (0.25, 0.5), (0.5, 0.5))
    b.until("%s[0] !== %s" % (labels, json.dumps(before[0])))
    after = b.run(labels)
    seen["curves linked"] = [len(set(after[:2])), after[0] != before[0], b.run("!document.getElementById('range').hidden")]
    b.run("document.querySelector('#page .menu').open = true")
    b.run("[...document.querySelectorAll('#page .menu label')].find((l) => l.textContent === 'processes').querySelector('input').click()")
    b.until("[...document.querySelectorAll('figcaption')].some((f) => f.textContent === 'processes')")
    seen["curves metrics"] = b.run("new URLSearchParams(location.search).get('metrics').split(',').includes('processes')")
    pages.keep()

    pages.open("/compare?view=gantt&where=tag.exp_component&by=exp_component", "document.querySelector('.rows-over-time .bars path')")
    seen["over time"] = [text(b, "#job-bars p"), b.run("document.querySelectorAll('#job-bars tbody tr').length")]
    pages.open("/compare?view=gantt&a=known-good&b=known-bad", "document.querySelector('.rows-over-time .bars path')")
    at = b.box(".rows-over-time .bars")
    b.click(at["x"] + 3, at["y"] + 5)  # the first one began first
    b.until("location.pathname.startsWith('/job/')")
    seen["opened"] = b.run("location.pathname")
    pages.keep()

    pages.open("/compare?view=boxes&model=small&a=known-good", "document.querySelectorAll('.plane .box').length === 3")
    seen["boxes"] = b.run("[...document.querySelectorAll('#boxes tbody tr')].map((r) => [r.cells[0].textContent, Number(r.cells[3].dataset.v)])")
    seen["far"] = b.run("document.querySelectorAll('.dots .far').length")
    b.run("document.getElementById('scaled').click()")
    b.until("document.querySelectorAll('#boxes .plane').length === 1")
    seen["scaled"] = b.run("[document.querySelectorAll('.plane .box').length, location.search.includes('scaled=1')]")
    pages.keep()


def wait_for(call):
    end = time.monotonic() + 30
    while not call():
        if time.monotonic() > end:
            sys.exit("a node of a collector did not come up")
        time.sleep(0.2)


def say(*command):
    r = subprocess.run(["plimsoll", *command], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return r.stdout if r.returncode == 0 else ""


def look_at_nodes(b):
    """A collector, a node, and the page about them."""
    started = [subprocess.Popen(["plimsoll", "collect", "-q", "--commit", "100ms", "--bind", "tcp://127.0.0.1:*", "--sink", "store:" + node_store],
                                stdout=subprocess.DEVNULL)]
    status = lambda: json.loads(say("collect", "--status", "--json") or "null") or {}
    server = None
    try:
        wait_for(lambda: status().get("native", {}).get("address"))
        started.append(subprocess.Popen(["plimsoll", "node", "-q", "--name", node_host, "-i", "500ms", "--batch", "1s", "-s", "system", "--connect",
                                         status()["native"]["address"], "--spool", "spool"], stdout=subprocess.DEVNULL))
        wait_for(lambda: say("series", "--db", node_store, "--json", "-m", "sampler.rss", "node:" + node_host))
        server = Server(of=node_store)
        pages = Pages(b, server.base)
        b.visit(server.link)
        pages.open("/nodes", "document.querySelector('#nodes tbody a[href*=node]')")
        seen["node"] = b.run("Object.fromEntries([...document.querySelectorAll('#nodes tbody tr')].flatMap((r) => [...r.cells].map((c, i) =>"
                             "[document.querySelectorAll('#nodes th')[i].textContent, c.innerText])))")
        seen["node tiles"] = b.run(TILES)
        seen["sink"] = text(b, "#sinks tbody td") == "store:" + node_store
        pages.keep()
        seen["nodes said"] = pages.said
    finally:
        for process in reversed(started):
            process.terminate()
            process.wait(timeout=30)
        if server:
            server.end()


ALL = ["/", "/job/known-good", "/compare?a=known-bad&b=known-good&with_failed=1", "/compare?view=scatter", "/compare?view=history&job=known-good",
       "/compare?view=curves&a=known-good&b=other", "/compare?view=gantt", "/compare?view=boxes&model=small&a=known-good", "/experiments",
       "/experiments?experiment=checked&group=one&job=known-good", "/models", "/alerts?all=1", "/inbox", "/nodes", "/sql?sql=select+*+from+jobs+limit+5"]
SETTLED = "document.querySelector('#page h1') && " + READY + \
          " && (!document.querySelector('#report') || document.querySelector('#report').dataset.round)"


def look_at_widths(b, pages):
    seen["wide"], seen["contrast"], seen["nameless"], seen["headings"] = [], [], [], []
    for path in ALL:
        for width, dark in ((375, False), (1440, False), (1440, True), (3840, False)):
            pages.open(path, SETTLED, width=width, dark=dark)
            # a phone makes its view wider for a page that does not fit
            over = b.run("Math.max(document.documentElement.scrollWidth, innerWidth)") - width
            if over > 0:
                seen["wide"].append([path, width, over])
            if width == 1440:
                c = b.run(browser.CONTRAST)
                if c["least"] < 4.5:
                    seen["contrast"].append([path, dark, c])
            if width == 1440 and not dark:
                seen["nameless"] += [[path, what] for what in nameless(b)]
                seen["headings"] += [] if b.run("document.querySelectorAll('h1').length === 1") else [path]
    pages.open("/", SETTLED)
    b.key("Tab")
    seen["first"] = b.run("document.activeElement.textContent")
    pages.keep()


def nameless(b):
    """What a screen reader would have no words for, of all that can be used."""
    roles = {"button", "link", "textbox", "searchbox", "combobox", "checkbox", "spinbutton", "image", "img", "table"}
    nodes = b.call("Accessibility.getFullAXTree")["nodes"]
    return sorted({n["role"]["value"] for n in nodes if not n.get("ignored") and n.get("role", {}).get("value") in roles and
                   not n.get("name", {}).get("value")})


def look_at_faults(b, pages, server):
    """The server ends and comes back; the store goes and comes back. Returns the server that runs then."""
    alert, waits = "#job-table [role=alert]", "Boolean(document.querySelector('#job-table [role=alert]'))"
    pages.open("/?where=jobid+~+known*", ROWS + " === 2")
    seen["ended"] = server.end()
    b.run("document.querySelector('.joblist thead button').click()")
    b.until(waits)
    seen["no server"] = text(b, alert)
    server = Server("--write", port=server.port)
    b.until("document.querySelector('%s')?.innerText.includes('--link') || !document.querySelector('%s')" % (alert, alert))
    seen["no session"] = text(b, alert)
    b.run("fetch(%s).then(() => 0)" % json.dumps(server.link))  # as another tab would
    b.until("!document.querySelector('%s') && %s === 2" % (alert, ROWS))
    seen["again"] = b.run(ROWS)

    os.rename(store, store + ".away")
    b.run("document.querySelector('.joblist thead button').click()")
    b.until(waits)
    seen["no store"] = text(b, alert)
    os.rename(store + ".away", store)
    b.until("!document.querySelector('%s')" % alert)
    seen["store again"] = b.run(ROWS)
    b.console = []
    pages.keep()
    return server


def main():
    if not browser.find():
        sys.exit(77)
    try:
        b = browser.Browser(home, limit=40)
    except (browser.BrowserError, OSError) as e:
        print(e, file=sys.stderr)
        sys.exit(77)
    server = Server("--write")
    try:
        pages = Pages(b, server.base)
        b.visit(server.link)
        look_at_running(b, pages)
        look_at_jobs(b, pages)
        look_at_job(b, pages)
        look_at_others(b, pages)
        look_at_widths(b, pages)
        server = look_at_faults(b, pages, server)
        seen["console"], seen["elsewhere"] = pages.said, pages.elsewhere
        look_at_nodes(b)
    finally:
        b.close()
        server.end()
    json.dump(seen, sys.stdout)


main()
