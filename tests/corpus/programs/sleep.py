"""sleep SECONDS time|asyncio|event: looks every 100 ms whether a file came, which never does."""
import asyncio
import os
import sys
import threading
import time
import work


async def wait():
    while work.now() < work.seconds() and not os.path.exists("/nonexistent/done"):
        await asyncio.sleep(0.1)


if sys.argv[2] == "asyncio":
    asyncio.run(wait())
elif sys.argv[2] == "event":
    event = threading.Event()
    while work.now() < work.seconds() and not event.wait(0.1):
        pass
else:
    while work.now() < work.seconds() and not os.path.exists("/nonexistent/done"):
        time.sleep(0.1)
