#!/usr/bin/env python3
"""Runs a command on a terminal of its own and does what it is told with it:
    pty_run.py ROWSxCOLUMNS STEP ... -- COMMAND ...
        wait:TEXT    until the screen has it (at most a minute)
        gone:TEXT    until it has it no more
        shot:FILE    writes the screen
        key:KEYS     types; <up> <down> <pgdn> <pgup> <home> <end> are keys
        size:RxC     changes the size
        signal:NAME  sends a signal
        end          waits for its end
At the end it prints the status, whether the terminal is as it was, and with raw:FILE at the beginning
all that was sent. The screen knows as much of a VT100 and an xterm as ncurses uses."""
import fcntl, os, pty, re, select, signal, struct, sys, termios, time

KEYS = {"<up>": "\033OA", "<down>": "\033OB", "<home>": "\033OH", "<end>": "\033OF", "<pgup>": "\033[5~", "<pgdn>": "\033[6~"}
SEQUENCE = re.compile(r"\033(?:\[([?>]?)([\d;]*)([A-Za-z@`])|[()][A-Z0-9]|[=>78MDE]|\][^\007]*\007)|[\r\n\b\t\016\017\007]|[^\033\r\n\b\t\016\017\007]")


class Screen:
    def __init__(self, rows, columns):
        self.resize(rows, columns)

    def resize(self, rows, columns):
        self.rows, self.columns, self.y, self.x = rows, columns, 0, 0
        self.top, self.bottom = 0, rows - 1
        self.cells = [[" "] * columns for _ in range(rows)]

    def text(self):
        return "\n".join("".join(r).rstrip() for r in self.cells) + "\n"

    def scroll(self, top, by):
        """Lines from top to the end of the region move, up when by is more than 0."""
        for _ in range(abs(by)):
            del self.cells[top if by > 0 else self.bottom]
            self.cells.insert(self.bottom if by > 0 else top, [" "] * self.columns)

    def clear(self, y0, x0, y1, x1):
        for y in range(max(y0, 0), min(y1, self.rows - 1) + 1):
            for x in range(x0 if y == y0 else 0, (x1 if y == y1 else self.columns - 1) + 1):
                if x < self.columns:
                    self.cells[y][x] = " "

    def control(self, n, what):
        first = n[0] if n and n[0] else 0
        if what in "Hf":
            self.y, self.x = (first or 1) - 1, (n[1] if len(n) > 1 and n[1] else 1) - 1
        elif what == "J":
            if first == 2:
                self.clear(0, 0, self.rows - 1, self.columns - 1)
            else:
                self.clear(self.y, self.x, self.rows - 1, self.columns - 1)
        elif what == "K":
            self.clear(self.y, 0 if first else self.x, self.y, self.x if first == 1 else self.columns - 1)
        elif what == "X":
            self.clear(self.y, self.x, self.y, self.x + (first or 1) - 1)
        elif what in "ABCD":
            k = first or 1
            self.y += {"A": -k, "B": k}.get(what, 0)
            self.x += {"C": k, "D": -k}.get(what, 0)
        elif what == "d":
            self.y = (first or 1) - 1
        elif what in "G`":
            self.x = (first or 1) - 1
        elif what == "b":
            for _ in range(first or 1):
                self.put(self.last)
        elif what == "r":
            self.top, self.bottom = (first or 1) - 1, (n[1] if len(n) > 1 and n[1] else self.rows) - 1
            self.y = self.x = 0
        elif what in "LM":
            self.scroll(self.y, (first or 1) * (1 if what == "M" else -1))
        elif what in "ST":
            self.scroll(self.top, (first or 1) * (1 if what == "S" else -1))
        elif what == "@":
            self.cells[self.y][self.x:self.x] = [" "] * (first or 1)
            del self.cells[self.y][self.columns:]
        elif what == "P":
            del self.cells[self.y][self.x:self.x + (first or 1)]
            self.cells[self.y] += [" "] * (self.columns - len(self.cells[self.y]))

    def line_feed(self):
        if self.y == self.bottom:
            self.scroll(self.top, 1)
        elif self.y + 1 < self.rows:
            self.y += 1

    def put(self, c):
        self.last = c
        if self.x >= self.columns:
            self.x = 0
            self.line_feed()
        self.cells[self.y][self.x] = c
        self.x += 1

    def feed(self, text):
        for m in SEQUENCE.finditer(text):
            t = m.group(0)
            if m.group(3) and not m.group(1):
                self.control([int(v) if v else 0 for v in m.group(2).split(";")] if m.group(2) else [], m.group(3))
            elif t == "\r":
                self.x = 0
            elif t == "\n":
                self.line_feed()
            elif t == "\t":
                self.x = min(self.x // 8 * 8 + 8, self.columns - 1)
            elif t == "\b":
                self.x = max(self.x - 1, 0)
            elif t == "\033M":
                if self.y == self.top:
                    self.scroll(self.top, -1)
                else:
                    self.y -= 1
            elif len(t) == 1 and t >= " ":
                self.put(t)


def set_size(fd, rows, columns):
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


def main():
    rows, columns = map(int, sys.argv[1].split("x"))
    split = sys.argv.index("--")
    steps, command = sys.argv[2:split], sys.argv[split + 1:]
    master, slave = pty.openpty()
    set_size(slave, rows, columns)
    before = termios.tcgetattr(slave)
    pid = os.fork()
    if pid == 0:
        os.close(master)
        os.setsid()
        fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
        for fd in 0, 1, 2:
            os.dup2(slave, fd)
        os.execvp(command[0], command)
    screen, raw, pending, status, raw_file = Screen(rows, columns), b"", b"", None, None

    def pump(seconds):
        nonlocal raw, pending, status
        ready = select.select([master], [], [], seconds)[0]
        if ready:
            try:
                data = os.read(master, 65536)
            except OSError:
                data = b""
            raw += data
            pending += data
            # what is cut off stays for later
            text = pending.decode("utf-8", "ignore")
            cut = text.rfind("\033")
            keep = text[cut:] if cut >= 0 and not SEQUENCE.match(text[cut:]) else ""
            screen.feed(text[:len(text) - len(keep)])
            pending = keep.encode()
        elif status is None:
            done, s = os.waitpid(pid, os.WNOHANG)
            if done:
                status = s
        return bool(ready)

    def until(condition, what):
        end = time.time() + 60
        while not condition():
            if not pump(0.05) and (status is not None or time.time() > end):
                if condition():
                    return
                sys.stderr.write("never saw %s; the screen is:\n%s" % (what, screen.text()))
                if status is None:
                    os.kill(pid, signal.SIGKILL)
                sys.exit(1)

    for step in steps:
        verb, _, value = step.partition(":")
        if verb == "wait":
            until(lambda: value in screen.text(), "'%s'" % value)
        elif verb == "gone":
            until(lambda: value not in screen.text(), "the end of '%s'" % value)
        elif verb == "shot":
            while pump(0.1):
                pass
            with open(value, "w") as f:
                f.write(screen.text())
        elif verb == "key":
            for k in re.findall(r"<\w+>|.", value):
                os.write(master, KEYS.get(k, k).encode())
        elif verb == "size":
            r, c = map(int, value.split("x"))
            screen.resize(r, c)
            set_size(master, r, c)
        elif verb == "signal":
            os.kill(pid, getattr(signal, value))
        elif verb == "raw":
            raw_file = value
        elif verb == "end":
            until(lambda: status is not None, "its end")
    if status is None:
        os.kill(pid, signal.SIGKILL)
        status = os.waitpid(pid, 0)[1]
    while pump(0.05):
        pass
    if raw_file:
        with open(raw_file, "wb") as f:
            f.write(raw)
    after = termios.tcgetattr(slave)
    print("status", os.waitstatus_to_exitcode(status))
    print("terminal", "restored" if before == after else "changed")


main()
