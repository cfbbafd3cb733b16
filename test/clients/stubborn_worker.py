"""A worker whose handlers do what they should not. Started by python.test.ts."""
import os
import sys
import time

import psycopg

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "clients", "python"))
from tock import Worker  # noqa: E402

url = os.environ["DATABASE_URL"]
worker = Worker(url, ["accounts"], lease=6, poll=0.5)


@worker.handler("leave")
def leave(job):
    sys.exit("nothing to do")


@worker.handler("garble")
def garble(job):
    raise ValueError("a null \0 and half a letter \ud800")


@worker.handler("hold")
def hold(job):
    """Holds the row of its run for most of the lease, in its transaction."""
    with psycopg.connect(url) as connection:
        job.progress(connection, 0.5)
        time.sleep(4)
        job.complete(connection)


@worker.handler("long")
def long(job):
    time.sleep(8)


worker.run()
