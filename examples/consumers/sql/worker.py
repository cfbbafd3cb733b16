#!/usr/bin/env python3
"""Executes the runs of a queue that is relayed to SQL: tock queue set accounts --relay sql

    DATABASE_URL=postgresql://python_accounts:secret@db/app ./worker.py
"""
import logging
import os
import sys
import time

import psycopg

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../../clients/python"))  # or copy tock.py here

from tock import Dead, Worker  # noqa: E402

url = os.environ["DATABASE_URL"]
worker = Worker(url, ["accounts"], lease=float(os.environ.get("LEASE", "60")))


@worker.handler("add-up")
def add_up(job):
    return {"sum": sum(job.payload["amounts"])}  # the run's output; what is raised is a failed attempt


@worker.handler("book")
def book(job):
    # The booking and the success are committed together: exactly once, whoever is killed.
    with psycopg.connect(url) as connection:
        connection.execute("insert into bookings (account) values (%s)", (job.payload["account"],))
        job.complete(connection)


@worker.handler("close")
def close(job):
    raise Dead(f"account {job.payload['account']} is closed already")  # no other attempt would do better


@worker.handler("export")
def export(job):
    # Takes longer than the lease, which the worker prolongs meanwhile.
    deadline = time.monotonic() + job.payload["seconds"]
    while time.monotonic() < deadline and not job.lost.is_set():
        time.sleep(0.05)
    return {"attempt": job.attempt}


if __name__ == "__main__":
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(message)s")
    worker.run()
