// Room: test support. Debian's Python with psycopg 3, for tests of the client in Python.
// In: nothing. Out: its path, and whether it is missing.
import { lacks } from './needs.js';

export const PYTHON = '/usr/bin/python3';

/** For `describe.skipIf`. */
export const hasNoPsycopg = () => lacks('python3-psycopg');
