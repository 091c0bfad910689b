"""Drives a headless Chromium over its debugging pipe: descriptors 3 and 4, JSON that ends in NUL."""
import base64
import json
import os
import select
import shutil
import subprocess
import time

# The least contrast of any text with what is behind it, over all elements with text of their own.
CONTRAST = """(() => {
  const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
  const rgb = (color) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = color;
    canvas.fillRect(0, 0, 1, 1);
    const d = canvas.getImageData(0, 0, 1, 1).data;
    return [d[0], d[1], d[2], d[3] / 255];
  };
  const light = (c) => c.slice(0, 3).map((v) => v / 255).map((v) => v <= 0.03928 ? v / 12.92 :
    ((v + 0.055) / 1.055) ** 2.4).reduce((s, v, i) => s + v * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = (e) => {
    for (; e; e = e.parentElement) {
      const c = rgb(getComputedStyle(e).backgroundColor);
      if (c[3] > 0.99)
        return c;
    }
    return [255, 255, 255, 1];
  };
  let least = 99, where = '', n = 0;
  for (const e of document.querySelectorAll('body *')) {
    if (e.tagName === 'SCRIPT' || ![...e.childNodes].some((t) => t.nodeType === 3 && t.data.trim()))
      continue;
    if (!e.checkVisibility())
      continue;
    const svg = e instanceof SVGElement, style = getComputedStyle(e);
    const box = svg && e.previousElementSibling?.tagName === 'rect' ? e.previousElementSibling : null;
    if (svg && e.closest('.bars'))
      continue; /* text over bars is the same as that over boxes */
    const a = light(rgb(svg ? style.fill : style.color));
    const b = light(box ? rgb(getComputedStyle(box).fill) : ground(svg ? e.ownerSVGElement.parentElement : e));
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    n++;
    if (contrast < least) {
      least = contrast;
      where = e.tagName + '.' + (e.getAttribute('class') || '') + ' ' + e.textContent.slice(0, 30);
    }
  }
  return {least, where, n};
})()"""


class BrowserError(Exception):
    pass


def find():
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if shutil.which(name):
            return shutil.which(name)
    return None


class Browser:
    """One Chromium with one page at a time. Everything that the page says is kept: self.console, self.requests."""

    def __init__(self, home, limit=120):
        self.limit = limit
        self.number = 0
        self.buffer = b""
        self.console, self.requests = [], []
        self.session = None
        down_r, down_w = os.pipe()
        up_r, up_w = os.pipe()

        def wire():
            # both are moved out of the way first: one may be 3 or 4 itself
            a, b = os.dup(down_r), os.dup(up_w)
            a, b = os.dup2(a, 20), os.dup2(b, 21)
            os.dup2(a, 3)
            os.dup2(b, 4)

        env = dict(os.environ, HOME=home, XDG_CONFIG_HOME=home, XDG_CACHE_HOME=home)
        self.log = open(os.path.join(home, "chromium.log"), "wb")
        self.process = subprocess.Popen(
            [find(), "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
             "--no-first-run", "--disable-background-networking", "--disable-component-update",
             "--disable-sync", "--user-data-dir=" + os.path.join(home, "profile"),
             "--remote-debugging-pipe", "about:blank"],
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, env=env, close_fds=False,
            preexec_fn=wire, start_new_session=True)
        os.close(down_r)
        os.close(up_w)
        self.write_fd, self.read_fd = down_w, up_r
        self.call("Browser.getVersion")
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")

    def close(self):
        try:
            self.session = None
            self.call("Browser.close")
            self.process.wait(timeout=20)
        except (BrowserError, subprocess.TimeoutExpired, OSError):
            pass
        if self.process.poll() is None:
            os.killpg(self.process.pid, 9)
            self.process.wait()
        self.log.close()

    def read(self, until):
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.read_fd], [], [], max(0, until - time.monotonic()))
            if not ready:
                raise BrowserError("no answer from the browser")
            data = os.read(self.read_fd, 1 << 20)
            if not data:
                raise BrowserError("the browser has ended")
            self.buffer += data
        line, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(line)

    def keep(self, message):
        method, p = message.get("method"), message.get("params", {})
        if method == "Runtime.consoleAPICalled" and p["type"] in ("error", "warning", "assert"):
            self.console.append(p["type"] + ": " + " ".join(str(a.get("value", a.get("description"))) for a in p["args"]))
        elif method == "Runtime.exceptionThrown":
            d = p["exceptionDetails"]
            self.console.append("exception: " + str(d.get("exception", {}).get("description", d.get("text"))))
        elif method == "Log.entryAdded" and p["entry"]["level"] in ("error", "warning"):
            self.console.append("log: " + p["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(p["request"]["url"])
        elif method == "Page.javascriptDialogOpening":
            self.console.append("dialog: " + p["message"])
        return method

    def call(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.write_fd, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + self.limit
        while True:
            answer = self.read(until)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise BrowserError(method + ": " + answer["error"]["message"])
                return answer.get("result", {})
            self.keep(answer)

    def wait(self, method):
        until = time.monotonic() + self.limit
        while self.keep(self.read(until)) != method:
            pass

    # ---- a page ----
    def open(self, path, **how):
        self.visit("file://" + os.path.abspath(path), **how)

    def visit(self, url, width=1280, height=900, dark=False, scripts=True, media=""):
        self.console, self.requests = [], []
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                  mobile=width < 500)
        self.call("Emulation.setEmulatedMedia", media=media,
                  features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.call("Emulation.setScriptExecutionDisabled", value=not scripts)
        self.call("Page.navigate", url=url)
        self.wait("Page.loadEventFired")

    def run(self, expression):
        r = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in r:
            raise BrowserError(str(r["exceptionDetails"].get("exception", {}).get("description")))
        return r["result"].get("value")

    def settle(self):
        """Waits until what was asked for has been drawn."""
        self.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def until(self, expression):
        end = time.monotonic() + self.limit / 2
        while not self.run(expression):
            if time.monotonic() > end:
                raise BrowserError("never true: " + expression)
            self.settle()

    def box(self, selector):
        self.run("document.querySelector(%s).scrollIntoView({block: 'center'})" % json.dumps(selector))
        self.settle()
        return self.run("(({x, y, width, height}) => ({x, y, width, height}))"
                        "(document.querySelector(%s).getBoundingClientRect())" % json.dumps(selector))

    def mouse(self, kind, x, y, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def click(self, x, y, count=1):
        self.mouse("mouseMoved", x, y)
        for n in range(1, count + 1):
            self.mouse("mousePressed", x, y, button="left", buttons=1, clickCount=n)
            self.mouse("mouseReleased", x, y, button="left", clickCount=n)
        self.settle()

    def drag(self, x, y, to):
        self.mouse("mouseMoved", x, y)
        self.mouse("mousePressed", x, y, button="left", buttons=1, clickCount=1)
        for i in range(1, 6):
            self.mouse("mouseMoved", x + (to - x) * i / 5, y, button="left", buttons=1)
        self.mouse("mouseReleased", to, y, button="left", clickCount=1)
        self.settle()

    def key(self, key, shift=False):
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, modifiers=8 if shift else 0,
                      text=key if len(key) == 1 and kind == "keyDown" else "")
        self.settle()

    def picture(self, path, whole=True):
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], 9000), "scale": 1}
        r = self.call("Page.captureScreenshot", captureBeyondViewport=whole, **({"clip": clip} if whole else {}))
        with open(path, "wb") as f:
            f.write(base64.b64decode(r["data"]))

    def pdf(self, path):
        with open(path, "wb") as f:
            f.write(base64.b64decode(self.call("Page.printToPDF", printBackground=True, paperWidth=8.27,
                                               paperHeight=11.69)["data"]))
