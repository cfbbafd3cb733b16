// Runs before each test file: notes which blocks and which statements a test reaches, and what PostgreSQL could not read.
// In: the calls that withSites() put in, and what is sent to the server. Out: notes beside each test, for host.mjs.
import pg from 'pg';
import { afterAll, afterEach, beforeEach } from 'vitest';

/** Of the thread, which runs many test files: this file is evaluated anew before each. */
const notes = (globalThis.__notes ??= listen());
notes.reached = new Set();
notes.refused = null;
const before = notes.reached;

function listen() {
  const own = { reached: new Set(), refused: null };
  globalThis.__reach = number => void own.reached.add(number);

  /** What is wrong with the text of a statement, whatever the data: syntax, names, types. Not a privilege. */
  const isAboutText = code => /^(?:42(?!501)|0A000|08P01)/.test(code ?? '');
  const note = error => {
    if (isAboutText(error?.code)) own.refused ??= `${error.code} ${error.message}`;
  };

  // oxlint-disable-next-line typescript/unbound-method -- called with its client below
  const { query } = pg.Client.prototype;
  pg.Client.prototype.query = function (first, ...rest) {
    const text = typeof first === 'string' ? first : first?.text;
    for (const [, number] of String(text).matchAll(/\/\*~(\d+)~\*\//g)) own.reached.add(Number(number));
    const callback = rest.at(-1);
    if (typeof callback === 'function')
      rest[rest.length - 1] = (error, ...answer) => {
        note(error);
        callback(error, ...answer);
      };
    const answer = query.call(this, first, ...rest);
    answer?.then?.(undefined, note);
    return answer;
  };
  return own;
}

beforeEach(() => {
  notes.reached = new Set();
  notes.refused = null;
});
afterEach(({ task }) => {
  task.meta.reached = [...notes.reached];
  if (notes.refused !== null) task.meta.refused = notes.refused;
});
// What is reached outside of any test belongs to all of the file.
afterAll(function () {
  const [, file] = arguments;
  file.meta.reached = [...before];
  if (notes.refused !== null) file.meta.refused = notes.refused;
});
