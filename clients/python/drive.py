#!/usr/bin/env python3
"""Lets ../conformance.json test tock.py: a line of JSON for each call, a line for what came of it.

    DATABASE_URL=postgresql://… ./drive.py
    {"call": "claim", "args": ["mail", 1, "1 minute"]}
    {"gives": [{"run_id": 812, …}]}     or {"fails": {"sqlstate": "22023", "message": "…", "hint": "…"}}
"""
import json
import os
import sys

import psycopg

import tock

with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True) as connection:
    for line in sys.stdin:
        asked = json.loads(line)
        try:
            said = {"gives": getattr(tock, asked["call"])(connection, *asked["args"])}
        except psycopg.Error as error:
            diag = error.diag
            said = {"fails": {"sqlstate": error.sqlstate, "message": diag.message_primary, "hint": diag.message_hint}}
        print(json.dumps(said, default=str), flush=True)
