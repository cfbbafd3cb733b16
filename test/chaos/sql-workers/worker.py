"""A worker that speaks SQL, in Python: writes an effect, and completes in the same transaction."""
import os
import sys
import threading
import time

import psycopg

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../../clients/python"))
sys.dont_write_bytecode = True

from tock import Worker  # noqa: E402

url = os.environ["DATABASE_URL"]
worker = Worker(url, ["work"], concurrency=8, lease=5, poll=1)
own = threading.local()


@worker.handler("count")
def count(job):
    time.sleep((2 + job.payload["n"] * 7919 % 20) / 1000)
    if not hasattr(own, "connection"):
        own.connection = psycopg.connect(url)
    with own.connection.transaction():
        own.connection.execute("insert into effects (n, by) values (%s, 'python')", (job.payload["n"],))
        job.complete(own.connection, job.payload)


worker.run()
