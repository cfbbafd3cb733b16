#!/usr/bin/env python3
"""A consumer for relayed queues of pg-tock, over RabbitMQ: the protocol of docs/relay.md, with pika.

    ./consumer.py amqp://worker:secret@broker:5672 mail reports

Handlers run in threads. All that has to do with RabbitMQ happens in the main thread.
"""
import concurrent.futures
import datetime
import json
import logging
import signal
import sys
import threading
import time
import traceback

import pika
import pika.exceptions

PREFIX = "tock"
CONCURRENCY = 10
HANDLERS = {}
log = logging.getLogger("consumer")


class Dead(Exception):
    """Raised by a handler: the run is dead, and no attempt follows."""


class Job:
    """One attempt of a run, for its handler."""

    def __init__(self, message):
        self.run, self.fence = message["run"], message["fence"]
        self.name, self.payload = message["job"], message["payload"]
        self.attempt, self.max_attempts = message["attempt"], message["maxAttempts"]
        self.idempotency_key = message["idempotencyKey"]
        self.lease = message["leaseMs"] / 1000
        published_at = datetime.datetime.fromisoformat(message["publishedAt"].replace("Z", "+00:00"))
        self.lease_ends = published_at.timestamp() + self.lease
        self.extend_at = time.time() + self.lease / 3
        self.lost = threading.Event()  # look at it from time to time, and stop if it is set

    def work(self):
        """Gives the members of the answer."""
        if self.name not in HANDLERS:
            return {"kind": "failed", "message": f"no handler for job {self.name}"}
        try:
            return {"kind": "succeeded", "result": HANDLERS[self.name](self)}
        except Exception as error:
            return {
                "kind": "failed",
                "message": str(error) or repr(error),
                "name": type(error).__name__,
                "stack": traceback.format_exc(),
                "retry": not isinstance(error, Dead),
            }


def handler(name):
    def register(function):
        HANDLERS[name] = function
        return function

    return register


class Consumer:
    def __init__(self, url, queues):
        self.url, self.queues = url, queues
        self.stopping = threading.Event()
        self.pool = concurrent.futures.ThreadPoolExecutor(CONCURRENCY)

    def serve(self):
        """Until the connection is lost, or a stop."""
        self.at_work = {}  # delivery tag -> (job, future)
        self.connection = pika.BlockingConnection(pika.URLParameters(self.url))
        self.channel = self.connection.channel()
        self.channel.confirm_delivery()  # from now on, a publish waits for its confirmation
        self.channel.basic_qos(prefetch_count=CONCURRENCY)
        for queue in [f"{PREFIX}.answers"] + [f"{PREFIX}.work.{name}" for name in self.queues]:
            self.channel.queue_declare(queue, durable=True, arguments={"x-queue-type": "quorum"})
        tags = [
            self.channel.basic_consume(f"{PREFIX}.work.{name}", self.on_message) for name in self.queues
        ]
        while tags or self.at_work:
            self.connection.process_data_events(time_limit=0.05)
            if self.stopping.is_set() and tags:
                for tag in tags:
                    self.channel.basic_cancel(tag)  # what was received is finished
                tags = []
            for tag, (job, future) in list(self.at_work.items()):
                if future.done():
                    self.answer(job, **future.result())
                    self.channel.basic_ack(tag)  # only after the answer is confirmed
                    del self.at_work[tag]
                elif time.time() >= job.extend_at:
                    self.extend(job)
        self.connection.close()

    def on_message(self, channel, method, _properties, body):
        try:
            message = json.loads(body)
            job = Job(message)
            if message["tock"] != 1:
                raise ValueError(f"version {message['tock']} of the protocol")
        except (ValueError, KeyError, TypeError) as error:
            log.warning("dropped a message that is none of a relay: %r", error)
            return channel.basic_ack(method.delivery_tag)
        if time.time() > job.lease_ends:
            log.warning("dropped run %s: its lease has ended", job.run)
            return channel.basic_ack(method.delivery_tag)
        self.at_work[method.delivery_tag] = (job, self.pool.submit(job.work))

    def extend(self, job):
        sent_at = time.time()
        if sent_at > job.lease_ends:
            return job.lost.set()
        self.answer(job, kind="extend", leaseMs=int(job.lease * 1000))
        job.lease_ends, job.extend_at = sent_at + job.lease, sent_at + job.lease / 3

    def answer(self, job, **members):
        self.channel.basic_publish(
            "",
            f"{PREFIX}.answers",
            json.dumps({"tock": 1, "run": job.run, "fence": job.fence, **members}),
            pika.BasicProperties(content_type="application/json", delivery_mode=2),
            mandatory=True,
        )

    def run(self):
        while not self.stopping.is_set():
            try:
                self.serve()
            except (pika.exceptions.AMQPError, OSError) as error:
                # What was at work comes again, here or elsewhere; an answer too many changes nothing.
                log.warning("lost RabbitMQ: %r", error)
                for job, _ in getattr(self, "at_work", {}).values():
                    job.lost.set()
                self.stopping.wait(1)


@handler("py-add")
def add(job):
    return {"sum": sum(job.payload["numbers"])}


@handler("py-slow")
def slow(job):
    deadline = time.time() + job.payload["seconds"]
    while time.time() < deadline and not job.lost.is_set():
        time.sleep(0.05)
    return {"attempt": job.attempt}


@handler("py-dead")
def refuse(job):
    raise Dead(f"account {job.payload['account']} is closed")


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit("usage: consumer.py URL QUEUE [QUEUE ...]")
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(message)s")
    consumer = Consumer(sys.argv[1], sys.argv[2:])
    for name in (signal.SIGTERM, signal.SIGINT):
        signal.signal(name, lambda *_: consumer.stopping.set())
    consumer.run()
