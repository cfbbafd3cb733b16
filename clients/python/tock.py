"""Workers for queues of pg-tock that are relayed to SQL: the protocol of docs/sql-workers.md, with psycopg 3.

    from tock import Worker

    worker = Worker("postgresql://python_mail:secret@db/app", ["mail"])

    @worker.handler("send-mail")
    def send_mail(job):
        return {"sent": deliver(job.payload)}

    worker.run()        # until SIGTERM or SIGINT

Handlers run in threads. All that the worker itself says to the database happens in the main thread, over one
connection, each statement in a transaction of its own.
"""
import concurrent.futures
import json
import logging
import os
import select
import signal
import threading
import time
import traceback

import psycopg
import psycopg.rows

log = logging.getLogger("tock")


class Dead(Exception):
    """Raised by a handler: the run is dead, and no attempt follows."""


class RetryAt(Exception):
    """Raised by a handler: the attempt has failed, and is to be repeated at this time (an aware datetime)."""

    def __init__(self, at, reason="it is to be tried again later"):
        super().__init__(reason)
        self.at = at


class LeaseLost(Exception):
    """The run is no longer this worker's: its lease has ended, or it was cancelled. Nothing was changed."""


# The functions of the protocol, for a psycopg connection. Each belongs to the connection's transaction.


def claim(connection, queue, count=1, lease="1 minute"):
    """Claims offers: a list of dicts. Commit at once."""
    with connection.cursor(row_factory=psycopg.rows.dict_row) as cursor:
        sql = "select * from tock.claim(%s::text, %s::integer, %s::interval)"
        return cursor.execute(sql, (queue, count, lease)).fetchall()


def complete(connection, run, fence, result=None):
    """The run has succeeded. False, as with the others: it is too late, and nothing was changed."""
    return _ask(connection, "tock.complete(%s::bigint, %s::integer, %s::jsonb)", run, fence, _json(result))


def fail(connection, run, fence, message, retry=True, retry_at=None, details=None):
    """The attempt has failed; without `retry` the run is dead. `details`: a dict with name, code, stack."""
    sql = "tock.fail(%s::bigint, %s::integer, %s::text, %s::boolean, %s::timestamptz, %s::jsonb)"
    return _ask(connection, sql, run, fence, message, retry, retry_at, _json(details))


def extend(connection, run, fence, lease="1 minute"):
    """The lease ends this long from now at the earliest."""
    return _ask(connection, "tock.extend(%s::bigint, %s::integer, %s::interval)", run, fence, lease)


def progress(connection, run, fence, fraction, note=None):
    """How far the run is: from 0 to 1, and a word."""
    sql = "tock.progress(%s::bigint, %s::integer, %s::float8, %s::text)"
    return _ask(connection, sql, run, fence, fraction, note)


def _ask(connection, call, *values):
    return connection.execute("select " + call, values).fetchone()[0]


def _json(value):
    return None if value is None else json.dumps(value)


def _storable(text):
    """Without what PostgreSQL's text cannot hold."""
    return text.replace("\0", "").encode(errors="backslashreplace").decode()


class Job:
    """One attempt of a run, for its handler."""

    def __init__(self, row, lease):
        self.run, self.fence, self.name = row["run_id"], row["fence"], row["job"]
        self.payload, self.attempt = row["payload"], row["attempt"]
        self.lost = threading.Event()
        """Set when the run is no longer this worker's. Look at it in long work, and stop."""
        self.is_completed = False
        self.extend_at = time.monotonic() + lease / 3
        self.lease_ends = time.monotonic() + lease

    def complete(self, connection, result=None):
        """Completes the run in the handler's own transaction: what that writes, and the success, are committed
        together. To be called last in it. Raises LeaseLost, so that it is rolled back, if it is too late."""
        if not complete(connection, self.run, self.fence, result):
            raise LeaseLost(f"run {self.run} under fence {self.fence}")
        self.is_completed = True

    def progress(self, connection, fraction, note=None):
        """Shows how far the run is. Over an autocommit connection: a transaction would hold the run's lease back."""
        return progress(connection, self.run, self.fence, fraction, note)


class Worker:
    """Claims runs of these queues, and calls the handlers of their jobs.

    concurrency: how many at once, each in a thread. lease: in seconds; it is prolonged each third. poll: how often
    to ask for runs where no notification comes, in seconds. grace: how long handlers may take after a SIGTERM.
    """

    def __init__(self, conninfo, queues, concurrency=10, lease=60, poll=5, grace=20):
        self.conninfo, self.queues, self.concurrency = conninfo, list(queues), concurrency
        self.lease, self.poll, self.grace = lease, poll, grace
        self.handlers = {}
        self.at_work = {}  # Job -> future
        self.stop_at = None
        self.connection = None
        self.is_told = False
        self.pool = concurrent.futures.ThreadPoolExecutor(concurrency)
        self.waker, self.wake_end = os.pipe()
        os.set_blocking(self.waker, False)
        os.set_blocking(self.wake_end, False)

    def handler(self, job):
        """Decorator of a function of a Job, which gives the run's output: None, or what JSON can hold."""

        def register(function):
            self.handlers[job] = function
            return function

        return register

    def stop(self):
        """Claims no more; `run` returns when what is at work has ended. Safe in a signal's handler."""
        self.stop_at = self.stop_at or time.monotonic() + self.grace
        self._wake()

    def run(self):
        """Works until `stop`, SIGTERM or SIGINT. A lost database is waited for."""
        if threading.current_thread() is threading.main_thread():
            for name in (signal.SIGTERM, signal.SIGINT):
                signal.signal(name, lambda *_: self.stop())
        pause = 0.25
        while not self._is_over():
            try:
                # Nothing is prepared, for poolers; a connection that has died is noticed within a lease.
                options = {"connect_timeout": 10, "tcp_user_timeout": int(self.lease * 1000 / 3), "keepalives_idle": 10}
                options |= psycopg.conninfo.conninfo_to_dict(self.conninfo)
                with psycopg.connect(**options, autocommit=True, prepare_threshold=None) as self.connection:
                    # A handler's transaction may hold its run's row: others must not wait for it.
                    self.connection.execute("set lock_timeout = '1s'")
                    self.connection.add_notify_handler(self._told)
                    self.connection.execute("listen tock_offers")
                    pause = 0.25
                    self._serve()
            # Internal: a server that has become a standby.
            except (psycopg.OperationalError, psycopg.InterfaceError, psycopg.InternalError) as error:
                log.warning("the database is away: %s", str(error).strip())
                self._mark_lost()
                time.sleep(pause)
                pause = min(pause * 2, 5)
        # A thread cannot be ended: the process waits for it at its end, and its run is tried again meanwhile.
        self.pool.shutdown(wait=not self.at_work, cancel_futures=True)

    def _is_over(self):
        if self.stop_at is None:
            return False
        return not self.at_work or time.monotonic() >= self.stop_at

    def _serve(self):
        ask_at = 0
        while not self._is_over():
            self._answer()
            self._extend()
            free = self.concurrency - len(self.at_work)
            claimed = 0
            if self.stop_at is None and free > 0 and time.monotonic() >= ask_at:
                claimed = self._claim(free)
                # If none came, there is nothing more: a notification, or the time, says when to ask again.
                ask_at = time.monotonic() + self.poll if claimed == 0 else 0
            if claimed == 0 and self._wait(ask_at) and self.stop_at is None:
                ask_at = 0
        self._answer()
        for job in list(self.at_work):
            # Out of grace. The attempt counts, and the next comes after the backoff.
            try:
                if fail(self.connection, job.run, job.fence, "the worker was stopped before it had ended", True, None):
                    log.warning("run %s had not ended when the worker was stopped; it is tried again", job.run)
            except psycopg.errors.LockNotAvailable:
                log.warning("run %s is being answered by its handler, or its lease ends", job.run)
            job.lost.set()

    def _claim(self, free):
        claimed = 0
        for queue in self.queues:
            if claimed == free:
                break
            try:
                rows = claim(self.connection, queue, min(free - claimed, 1000), f"{self.lease} seconds")
            except (psycopg.errors.InsufficientPrivilege, psycopg.errors.ObjectNotInPrerequisiteState) as error:
                log.warning("%s: %s", error.diag.message_primary, error.diag.message_hint)
                continue
            for row in rows:
                job = Job(row, self.lease)
                future = self.pool.submit(self._work, job)
                self.at_work[job] = future
                future.add_done_callback(self._wake)
            claimed += len(rows)
        # The next time another queue comes first.
        self.queues.append(self.queues.pop(0))
        return claimed

    def _work(self, job):
        """In a thread. Gives how to answer; None: it is answered."""
        try:
            handler = self.handlers.get(job.name)
            if handler is None:
                return fail, (f"no handler for job {job.name}",)
            result = handler(job)
            json.dumps(result)
            return None if job.is_completed else (complete, (result,))
        except LeaseLost:
            return None
        # SystemExit too: a handler ends its run, not the worker.
        except BaseException as error:
            details = {"name": type(error).__name__, "stack": _storable(traceback.format_exc())}
            message = _storable(str(error) or repr(error))
            retry_at = error.at if isinstance(error, RetryAt) else None
            return fail, (message, not isinstance(error, Dead), retry_at, details)

    def _answer(self):
        for job, future in list(self.at_work.items()):
            if not future.done():
                continue
            answer = future.result()
            if answer is not None and not job.lost.is_set():
                function, values = answer
                try:
                    held = function(self.connection, job.run, job.fence, *values)
                except psycopg.errors.LockNotAvailable:
                    # The handler's transaction has not ended yet: the next time.
                    continue
                except (psycopg.DataError, psycopg.errors.ProgramLimitExceeded, UnicodeError) as error:
                    # Such as a result that is too large: no other attempt would do better.
                    held = fail(self.connection, job.run, job.fence, _storable(str(error)), False)
                if not held:
                    log.warning("run %s: the answer came too late", job.run)
            # Only now: while the database is away, the answer waits.
            del self.at_work[job]

    def _extend(self):
        for job, future in list(self.at_work.items()):
            if job.lost.is_set() or future.done() or time.monotonic() < job.extend_at:
                continue
            sent_at = time.monotonic()
            try:
                is_held = extend(self.connection, job.run, job.fence, f"{self.lease} seconds")
            except psycopg.errors.LockNotAvailable:
                # The handler's transaction has progress, or the success, that is not committed: soon again.
                job.extend_at = sent_at + min(self.lease / 10, 5)
                continue
            if is_held:
                job.extend_at, job.lease_ends = sent_at + self.lease / 3, sent_at + self.lease
            else:
                log.warning("run %s is no longer this worker's", job.run)
                job.lost.set()

    def _mark_lost(self):
        for job in self.at_work:
            if time.monotonic() > job.lease_ends:
                job.lost.set()

    def _wait(self, ask_at):
        """Until something is to do. Gives whether runs were offered, or one has ended."""
        times = [job.extend_at for job, future in self.at_work.items() if not job.lost.is_set()]
        if self.stop_at is None and len(self.at_work) < self.concurrency:
            times.append(ask_at)
        if self.stop_at is not None:
            times.append(self.stop_at)
        timeout = 0 if self.is_told else max(0, min(times, default=time.monotonic() + self.poll) - time.monotonic())
        ready, _, _ = select.select([self.connection.pgconn.socket, self.waker], [], [], timeout)
        if self.waker in ready:
            os.read(self.waker, 4096)
            self.is_told = True
        if self.connection.pgconn.socket in ready:
            self.connection.execute("")  # reads what has come, and calls _told
        is_told, self.is_told = self.is_told, False
        return is_told

    def _told(self, notification):
        self.is_told = self.is_told or notification.payload in self.queues

    def _wake(self, *_):
        try:
            os.write(self.wake_end, b".")
        except BlockingIOError:
            pass  # it is awake anyway
