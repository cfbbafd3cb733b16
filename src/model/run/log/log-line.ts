// One line of a run's log, as it is stored: `[ms,"i","text",{fields}]`, where ms counts from the log's first
// line. A log is such lines, one below the other: plain text, which compresses well.
import { LOG_LEVELS, type LogLevel } from '../../job/logs-option.js';
import { describeError, describeOutput, redact, storable, withoutStacks } from '../sanitize.js';

/** A line without its time, and how many bytes of its text and fields were left out. */
export interface LogLine {
  /** The rest of the JSON array after its first element. */
  readonly body: string;
  readonly cutBytes: number;
}

/** A line as a reader gets it. */
export interface ReadLine {
  /** In milliseconds since the log's first line. */
  readonly ms: number;
  readonly level: LogLevel;
  readonly text: string;
  readonly fields: Readonly<Record<string, unknown>> | null;
}

/** Bytes of a line, unless `maxBytes` of the log is small: a line never takes more than a quarter of it. */
const MAX_LINE = 8192;
/** How far beyond a cut passwords are searched for. */
const MAX_SECRET = 2000;
/**
 * Makes a line storable: no NUL, no lone surrogate, no password, bounded. Never throws.
 * @param maxBytes of the whole log
 */
export function describeLine(
  level: LogLevel,
  text: string,
  fields: Readonly<Record<string, unknown>>,
  maxBytes: number,
): LogLine {
  const maxLine = Math.min(MAX_LINE, Math.floor(maxBytes / 4));
  const room = maxLine - FRAME;
  const kept = describeFields(fields, Math.floor(room / 2));
  // Escapes may make a text six times as long in JSON.
  for (let limit = room - Buffer.byteLength(kept.json); ; limit = Math.floor(limit / 2)) {
    const short = cutText(text, Math.max(limit, 0));
    const said = short.cutBytes === 0 ? short.text : `${short.text}… (${short.cutBytes} more bytes)`;
    const array = JSON.stringify([LETTERS[level], said]);
    const body = redact(`${array.slice(1, -1)}${kept.json}]`);
    if (Buffer.byteLength(body) <= maxLine - MAX_TIME || limit < 1)
      return { body, cutBytes: short.cutBytes + kept.cutBytes };
  }
}

/** The digits of a line's time, with its bracket and comma. */
const MAX_TIME = 16;
/** For brackets, time and level, and for the note of what was cut. */
const FRAME = 64;

const LETTERS: Readonly<Record<LogLevel, string>> = { debug: 'd', info: 'i', warn: 'w', error: 'e' };
const LEVEL_OF = new Map(LOG_LEVELS.map(level => [LETTERS[level], level]));

/** The first `maxBytes` of a text in UTF-8, without half a character, and how many bytes that leaves out. */
function cutText(text: string, maxBytes: number): { readonly text: string; readonly cutBytes: number } {
  const total = Buffer.byteLength(text);
  if (total <= maxBytes) return { text: storable(text), cutBytes: 0 };
  // A text of 10 MB must not be searched whole, nor a password be cut before it is found.
  const searched = text.slice(0, maxBytes + MAX_SECRET);
  const bytes = Buffer.from(redact(storable(searched)));
  if (bytes.length <= maxBytes && searched.length === text.length)
    return { text: bytes.toString(), cutBytes: 0 };
  let end = Math.min(maxBytes, bytes.length);
  // Not within a character.
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--;
  return { text: bytes.toString('utf8', 0, end), cutBytes: total - end };
}

interface StoredFields {
  /** With a comma before it; empty if there are no fields. */
  readonly json: string;
  readonly cutBytes: number;
}

/** Without stacks if these are too long; else only how much was left out. */
function describeFields(fields: Readonly<Record<string, unknown>>, maxBytes: number): StoredFields {
  try {
    if (Object.keys(fields).length === 0) return { json: '', cutBytes: 0 };
    const json = JSON.stringify(plainFields(fields));
    const bytes = Buffer.byteLength(json);
    if (bytes <= maxBytes) return { json: `,${json}`, cutBytes: 0 };
    const short = JSON.stringify(plainFields(fields, false));
    const shortBytes = Buffer.byteLength(short);
    if (shortBytes <= maxBytes) return { json: `,${short}`, cutBytes: bytes - shortBytes };
    return { json: `,{"fieldsLeftOut":${bytes}}`, cutBytes: bytes };
  } catch {
    // A getter may throw.
    return { json: ',{"fieldsLeftOut":0}', cutBytes: 0 };
  }
}

/** Fields as JSON holds them; an error with its name, code, message, causes and, unless left out, stack. */
export function plainFields(
  fields: Readonly<Record<string, unknown>>,
  withStacks = true,
): Record<string, unknown> {
  const plain = Object.entries(fields).map(([name, value]) => {
    const key = storable(name);
    if (!(value instanceof Error)) return [key, describeOutput(value)];
    const described = describeError(value, 0);
    const { name: type, code, attempt: _attempt, ...description } = described;
    const { name: _name, code: _code, ...short } = withoutStacks(described) as typeof described;
    return [key, { type, ...(code === null ? {} : { code }), ...(withStacks ? description : short) }];
  });
  return Object.fromEntries(plain) as Record<string, unknown>;
}

/** Reads a stored line. One that is damaged is shown as it is. */
export function readLine(line: string): ReadLine {
  try {
    const [ms, letter, text, fields] = JSON.parse(line) as [number, string, string, ReadLine['fields']?];
    return {
      ms: ms || 0,
      level: LEVEL_OF.get(letter) ?? 'info',
      text,
      fields: fields ?? null,
    };
  } catch {
    return { ms: 0, level: 'info', text: line, fields: null };
  }
}
