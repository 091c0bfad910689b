"""Milliseconds until a page can be used, by its own mark, several times:
    page_time.py HOME FILE ROUNDS               a report
    page_time.py HOME PATH ROUNDS STORE         a page of `plimsoll serve`, each time of a server that has just begun: until the
                                                first paint, until it can be used, and until a zoom of all charts is drawn
"""
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
from browser import Browser, BrowserError, find  # noqa: E402

MARK = "performance.getEntriesByName('interactive')[0]%s.startTime"
PAINT = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
ZOOM = """(async () => {
  const span = page.end - page.begin, begin = performance.now();
  zoom.set(page.begin + span / 4, page.begin + span / 2);
  await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  return performance.now() - begin;
})()"""


def served(b, path, store):
    server = subprocess.Popen(["plimsoll", "serve", "--db", store, "--listen", "127.0.0.1:0"], stdout=subprocess.PIPE, text=True)
    try:
        link = server.stdout.readline().strip()
        b.visit(link + "#nothing")  # the session; what it shows is another page
        b.visit(re.match(r"http://[^/]+", link).group() + path)
        b.until("Boolean(%s)" % (MARK % "?"))
        b.run("document.getElementById('gantt')?.scrollIntoView()")
        b.settle()
        print("%.1f %.1f %.1f" % (b.run(PAINT), b.run(MARK % ""), b.run(ZOOM)))
    finally:
        server.terminate()
        server.wait()
        server.stdout.close()


if not find():
    sys.exit("no Chromium here")
try:
    browser = Browser(sys.argv[1])
except BrowserError as e:
    sys.exit("Chromium does not start: %s" % e)
try:
    for _ in range(int(sys.argv[3])):
        if len(sys.argv) > 4:
            served(browser, sys.argv[2], sys.argv[4])
        else:
            browser.open(sys.argv[2])
            print("%.1f" % browser.run(MARK % ""))
finally:
    browser.close()
