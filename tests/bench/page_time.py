"""Milliseconds until a page of a report can be used, by its own mark, several times: page_time.py HOME FILE ROUNDS"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
from browser import Browser, BrowserError, find  # noqa: E402

if not find():
    sys.exit("no Chromium here")
try:
    browser = Browser(sys.argv[1])
except BrowserError as e:
    sys.exit("Chromium does not start: %s" % e)
try:
    for _ in range(int(sys.argv[3])):
        browser.open(sys.argv[2])
        print("%.1f" % browser.run("performance.getEntriesByName('interactive')[0].startTime"))
finally:
    browser.close()
