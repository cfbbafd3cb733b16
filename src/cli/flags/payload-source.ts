// Reads a payload or a result from the flag itself, a file, or standard input.
import { readFile } from 'node:fs/promises';
import { text as readAll } from 'node:stream/consumers';
import { TockError } from '../../model/errors.js';
import { readJson } from '../../model/job/payload/json-text.js';
import { quote } from '../../model/names.js';

/** Reads JSON, `@file`, or `-` for standard input. Undefined if the flag was not given. */
export async function readPayload(
  flag: string | undefined,
  noun: 'payload' | 'result' = 'payload',
): Promise<unknown> {
  if (flag === undefined) return undefined;
  if (flag === '-') return readJson(withoutMark(await readAll(process.stdin)), 'standard input');
  if (!flag.startsWith('@')) return readJson(flag, `the ${noun}`);
  const file = flag.slice(1);
  try {
    return readJson(withoutMark(await readFile(file, 'utf8')), file);
  } catch (error) {
    if (error instanceof TockError) throw error;
    const why = error instanceof Error ? error.message : String(error);
    throw new TockError('TOCK_BAD_PAYLOAD', `the ${noun} file ${quote(file)} cannot be read: ${why}`, {
      cause: error,
    });
  }
}

/** Editors on Windows begin a file with a byte order mark. */
function withoutMark(text: string): string {
  return text.replace(/^\uFEFF/, '');
}
