"""Signs in to `plimsoll serve --auth users` with one Chromium, and prints what it saw as JSON.

    serve_sign_in_check.py HOME STORE

The store has the users zebra-user (user) and boss (admin), whose password is `correct horse`, the model norm and the job
more. 77: there is no browser that starts here.
"""
import json
import signal
import subprocess
import sys

import browser

home, store = sys.argv[1:3]
seen = {}
PAGES = "[...document.querySelectorAll('#pages a')].filter((a) => a.checkVisibility()).map((a) => a.textContent)"
READY = "Boolean(document.querySelector('#page')?.children.length) && !document.querySelector('[aria-busy], .loading, .stale')"
WHO = "document.querySelector('.who span')?.textContent"


def sign_in(b, name, password):
    b.run("(() => { document.querySelector('[name=name]').value = %s; document.querySelector('[name=password]').value = %s;"
          "document.querySelector('form button').click(); })()" % (json.dumps(name), json.dumps(password)))
    b.wait("Page.loadEventFired")
    b.settle()


def look_at_sign_in(b, base):
    b.visit(base)
    seen["place"] = b.run("location.pathname")
    seen["button"] = b.run("getComputedStyle(document.querySelector('form button')).backgroundColor")
    seen["contrast"] = []
    for width, dark in ((1440, False), (375, False), (1440, True)):
        b.visit(base, width=width, dark=dark)
        seen["contrast"].append(b.run(browser.CONTRAST)["least"] >= 4.5)
        seen.setdefault("over", []).append(b.run("document.documentElement.scrollWidth > innerWidth"))
    sign_in(b, "zebra-user", "wrong")
    seen["wrong"] = b.run("document.querySelector('.finding.severe').textContent")


def look_as_user(b, base):
    sign_in(b, "zebra-user", "correct horse")
    b.until(READY + " && " + WHO)
    seen["user"], seen["pages of a user"] = b.run(WHO), b.run(PAGES)
    b.visit(base + "models", width=375)
    b.until(READY + " && " + WHO)
    seen["form of a user"] = b.run("Boolean(document.querySelector('#create'))")
    seen["over"].append(b.run("document.documentElement.scrollWidth > innerWidth"))
    b.run("document.querySelector('.who button').click()")
    b.wait("Page.loadEventFired")
    seen["signed out"] = b.run("location.pathname")


def look_as_admin(b, base):
    sign_in(b, "boss", "correct horse")
    b.until(READY + " && " + WHO)
    seen["pages of an administrator"] = b.run(PAGES)
    b.visit(base + "models?model=norm")
    b.until(READY + " && Boolean(document.querySelector('#model tbody tr'))")
    seen["holds"] = b.run("[...document.querySelectorAll('#model tbody tr')].map((r) => [...r.cells].map((c) => c.textContent))"
                          ".find((c) => c[0] === 'num_procs' && c[1] === 'iqr')[3]")
    seen["made from"] = b.run("document.querySelector('#jobs-title').textContent")
    b.run("(() => { const f = document.querySelector('#change form'); f.querySelector('input').value = 'more';"
          "f.requestSubmit(); })()")
    b.until("document.querySelector('#jobs-title')?.textContent !== %s" % json.dumps(seen["made from"]))
    seen["trained"] = b.run("document.querySelector('#jobs-title').textContent")


def main():
    if not browser.find():
        sys.exit(77)
    try:
        b = browser.Browser(home, limit=40)
    except (browser.BrowserError, OSError) as e:
        print(e, file=sys.stderr)
        sys.exit(77)
    server = subprocess.Popen(["plimsoll", "serve", "--db", store, "--listen", "127.0.0.1:0", "--auth", "users", "--write"],
                              stdout=subprocess.PIPE, text=True)
    try:
        base = server.stdout.readline().strip()
        look_at_sign_in(b, base)
        look_as_user(b, base)
        look_as_admin(b, base)
    finally:
        b.close()
        server.send_signal(signal.SIGTERM)
        server.wait(timeout=20)
        server.stdout.close()
    json.dump(seen, sys.stdout)


main()
