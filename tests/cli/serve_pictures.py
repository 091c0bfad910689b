"""Takes pictures of the pages of `plimsoll serve`, for scripts/screenshots:
    serve_pictures.py HOME DIRECTORY"""
import os
import re
import subprocess
import sys

import browser

home, to = sys.argv[1:3]
PAGES = [("jobs", "/"), ("job", "/job/demo"), ("compare", "/compare?a=step-12&b=step-1,step-2,step-3,step-4,step-5"),
         ("scatter", "/compare?view=scatter"), ("history", "/compare?view=history&job=step-1"), ("experiments", "/experiments"),
         ("curves", "/compare?view=curves&a=demo&b=demo-2,demo-3"), ("over-time", "/compare?view=gantt&where=tag.exp_component+and+after+=+-10d"),
         ("boxes", "/compare?view=boxes&a=step-1,step-2,400001&model=esm4"), ("normalised", "/compare?view=boxes&a=step-1,400001&model=esm4&scaled=1"),
         ("experiment", "/experiments?experiment=esm4_historical_D1"), ("operations", "/experiments?experiment=demo&group=build&job=demo"),
         ("models", "/models"), ("model", "/models?model=esm4"), ("alerts", "/alerts?all=1"), ("nodes", "/nodes"), ("inbox", "/inbox"),
         ("sql", "/sql?sql=SELECT+user,+count(*)+AS+jobs,+sum(cpu_time)+/+3600e6+AS+cpu_hours%0AFROM+jobs+GROUP+BY+user"
                 "+ORDER+BY+cpu_hours+DESC")]
READY = "Boolean(document.querySelector('#page h1') && !document.querySelector('[aria-busy], .loading') && " \
        "(!document.querySelector('#report') || document.querySelector('#report').dataset.round))"

server = subprocess.Popen(["plimsoll", "serve", "--listen", "127.0.0.1:0", "--write"], stdout=subprocess.PIPE, text=True)
try:
    link = server.stdout.readline().strip()
    base = re.match(r"http://[^/]+", link).group()
    b = browser.Browser(home)
    b.visit(link)
    for name, path in PAGES:
        for theme in ("light", "dark"):
            for width in (1440, 375, 3840) if name in ("jobs", "job", "curves") else (1440, 375):
                b.visit(base + path, width=width, height=2000 if width > 2000 else 1000, dark=theme == "dark")
                b.until(READY)
                if name == "nodes":  # its values come one by one
                    b.until("Boolean(document.querySelector('#nodes tbody a'))")
                for _ in range(30):
                    b.settle()
                b.picture(os.path.join(to, "%s-%s-%d.png" % (name, theme, width)), whole=name != "job")
                for line in b.console:
                    print("%s: %s" % (name, line), file=sys.stderr)
    b.close()
finally:
    server.terminate()
    server.wait()
