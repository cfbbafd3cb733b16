// Makes whatever a handler throws or returns storable: no NUL, no lone surrogate, no secret, bounded.
import type { Json } from '../job/payload/json.js';
import { isDeeperThan, MAX_DEPTH as MAX_JSON_DEPTH } from '../json-depth.js';
import { isStorable } from '../names.js';

/** An error as it is stored and shown: without secrets, its texts cut. */
export interface ErrorDescription {
  /** Such as `TypeError`, or `thrown string` if it is not an object. */
  readonly name: string;
  readonly code: string | null;
  /** At most 4,000 characters; 1,000 in a cause or member. */
  readonly message: string;
  /** At most 8,000 characters; 2,000 in a cause or member. */
  readonly stack: string | null;
  /** `error.cause`; absent if there is none. */
  readonly cause?: ErrorDescription;
  readonly errors?: readonly ErrorDescription[];
  /** How many causes and members are not kept: five levels are, and about 16,000 characters in all. */
  readonly leftOut?: number;
}

/** One failed attempt, as `job_runs.errors` keeps it. */
export interface ErrorEntry extends ErrorDescription {
  /** When it failed: ISO text in UTC. The database adds it. */
  readonly at?: string;
  /** 1 for the first attempt. */
  readonly attempt: number;
  /** Host and process id of its worker, as far as it is known. */
  readonly worker?: string;
  /** The deploy of its worker, if it is known. */
  readonly deploy?: string;
  /** With how many runs its handler was called, itself included; absent if it was alone. */
  readonly batch?: number;
}

const MAX_MESSAGE = 4000;
const MAX_STACK = 8000;
const MAX_NAME = 200;
const MAX_NESTED_MESSAGE = 1000;
const MAX_NESTED_STACK = 2000;
/** Levels of causes and members below the thrown error. */
const MAX_DEPTH = 5;
/** Characters of all causes and members together; the last one kept may exceed it. */
const MAX_NESTED_TEXT = 16_000;
/** The least that each of them counts for, so that thousands of empty ones are not kept. */
const MIN_NESTED_TEXT = 100;
const MAX_MEMBERS = 100;
/** How far beyond a cut passwords are searched for. */
const MAX_SECRET = 2000;
/** A larger output is replaced by a note. */
export const MAX_OUTPUT_BYTES = 1024 * 1024;

/** How many causes and members a child process left out of an error. */
export const LEFT_OUT = Symbol('tock.leftOut');

/**
 * Describes any thrown value with its causes and the members of an AggregateError. Never throws, not even for
 * a hostile getter; a circle of causes ends where it closes.
 */
export function describeError(thrown: unknown, attempt: number): ErrorEntry {
  return {
    attempt,
    ...describe(thrown, MAX_MESSAGE, MAX_STACK),
    ...describeNested(thrown, [thrown], { characters: MAX_NESTED_TEXT }),
  };
}

/** Without stacks, for a line of the log. */
export function withoutStacks({ name, code, message, cause, errors, leftOut }: ErrorDescription): object {
  return {
    name,
    code,
    message,
    ...(cause && { cause: withoutStacks(cause) }),
    ...(errors && { errors: errors.map(withoutStacks) }),
    ...(leftOut !== undefined && { leftOut }),
  };
}

function describe(thrown: unknown, maxMessage: number, maxStack: number): ErrorDescription {
  const isObject = typeof thrown === 'object' && thrown !== null;
  const message = isObject ? readText(thrown, 'message') : stringify(thrown);
  const name = isObject ? readText(thrown, 'name') : `thrown ${thrown === null ? 'null' : typeof thrown}`;
  return {
    name: clean(name ?? 'Error', MAX_NAME),
    code: isObject ? cleanOrNull(readText(thrown, 'code'), MAX_NAME) : null,
    message: clean(message ?? 'no message', maxMessage),
    stack: isObject ? cleanOrNull(readText(thrown, 'stack'), maxStack) : null,
  };
}

type Nested = Pick<ErrorDescription, 'cause' | 'errors' | 'leftOut'>;

/** @param path the error itself and those above it */
function describeNested(thrown: unknown, path: readonly unknown[], room: { characters: number }): Nested {
  if (typeof thrown !== 'object' || thrown === null) return {};
  const cause = read(thrown, 'cause') ?? null;
  const { members, beyond } = membersOf(thrown);
  const lost = read(thrown, LEFT_OUT);
  if (cause === null && members.length === 0 && lost === undefined) return {};
  let leftOut = beyond + (typeof lost === 'number' ? lost : 0);
  const describeOne = (nested: unknown): ErrorDescription[] => {
    if (path.includes(nested)) return [];
    if (path.length > MAX_DEPTH || room.characters <= 0) {
      leftOut++;
      return [];
    }
    const description = describe(nested, MAX_NESTED_MESSAGE, MAX_NESTED_STACK);
    room.characters -= MIN_NESTED_TEXT + lengthOf(description);
    return [{ ...description, ...describeNested(nested, [...path, nested], room) }];
  };
  const [described] = cause === null ? [] : describeOne(cause);
  const errors = members.flatMap(describeOne);
  return {
    ...(described && { cause: described }),
    ...(errors.length > 0 && { errors }),
    ...(leftOut > 0 && { leftOut }),
  };
}

function lengthOf({ name, code, message, stack }: ErrorDescription): number {
  return name.length + (code?.length ?? 0) + message.length + (stack?.length ?? 0);
}

interface Members {
  readonly members: readonly unknown[];
  readonly beyond: number;
}

const NO_MEMBERS: Members = { members: [], beyond: 0 };

/** Members of an AggregateError, even from another realm; none for other errors. */
function membersOf(thrown: object): Members {
  try {
    if (!(thrown instanceof AggregateError) && Reflect.get(thrown, 'name') !== 'AggregateError')
      return NO_MEMBERS;
    const errors: unknown = Reflect.get(thrown, 'errors');
    if (!Array.isArray(errors)) return NO_MEMBERS;
    const members: readonly unknown[] = errors.slice(0, MAX_MEMBERS);
    return { members, beyond: Math.max(0, errors.length - members.length) };
  } catch {
    return NO_MEMBERS;
  }
}

/** Turns a handler's result into storable JSON, or into a note if that is impossible. */
export function describeOutput(value: unknown): Json | null {
  if (value === undefined || value === null) return null;
  try {
    const text = JSON.stringify(value);
    if (text === undefined) return note(`a ${typeof value} cannot be kept as JSON`);
    if (Buffer.byteLength(text) > MAX_OUTPUT_BYTES)
      return note(`the output of ${text.length} characters is too large to keep`);
    // JSON may escape NULs and lone surrogates, but PostgreSQL refuses them.
    const output = JSON.parse(text, (_key, part: unknown) => storablePart(part)) as Json;
    return isDeeperThan(output, MAX_JSON_DEPTH)
      ? note(`the output is nested deeper than ${MAX_JSON_DEPTH} levels`)
      : output;
  } catch (error) {
    return note(`the output cannot be kept as JSON: ${describeError(error, 0).message}`);
  }
}

function note(reason: string): Json {
  return { outputLeftOut: reason };
}

function read(thrown: object, key: string | symbol): unknown {
  try {
    return Reflect.get(thrown, key);
  } catch {
    return undefined;
  }
}

function readText(thrown: object, key: string): string | null {
  const value = read(thrown, key);
  return typeof value === 'string' || typeof value === 'number' ? String(value) : null;
}

function stringify(value: unknown): string {
  try {
    return String(value);
  } catch {
    return 'a value that cannot be shown';
  }
}

function cleanOrNull(text: string | null, maxLength: number): string | null {
  return text === null ? null : clean(text, maxLength);
}

function clean(text: string, maxLength: number): string {
  // A message of 10 MB must not be searched whole, nor a password be cut before it is found.
  const safe = redact(storable(text.slice(0, maxLength + MAX_SECRET)));
  return safe.length > maxLength ? `${safe.slice(0, maxLength - 1)}…`.toWellFormed() : safe;
}

function storablePart(part: unknown): unknown {
  if (typeof part === 'string') return storable(part);
  if (typeof part !== 'object' || part === null || Object.keys(part).every(isStorable)) return part;
  return Object.fromEntries(Object.entries(part).map(([key, value]) => [storable(key), value]));
}

/** Without NUL and lone surrogates. */
export function storable(text: string): string {
  return text.replaceAll('\0', '\uFFFD').toWellFormed();
}

// The look-behind and the counts keep the search linear and its stack small. A quote before , : } ] or the
// end closes a JSON text: a line of a log is redacted as a whole and must stay JSON.
const DSN_PASSWORD = /((?<![a-z0-9+.-])[a-z0-9+.-]+:\/\/[^\s:/@"]*:)(?:[^\s/"]|"(?![,:}\]]|$)){0,1000}(@)/gi;
const KEYWORD_PASSWORD =
  /(password\s*=\s*|[?&][\w-]{0,40}(?:token|secret|signature|api_?key)=)(?:'(?:[^'\\]|\\.){0,1000}'|(?:[^\s;&"]|"(?![,:}\]]|$)){1,1000})/gi;

/** Takes passwords out of connection strings, and tokens out of URLs, in a text or in a line of JSON. */
export function redact(text: string): string {
  // Most texts hold neither, and the searches cost far more than looking for what each needs.
  const withoutUrls = text.includes('://') ? text.replace(DSN_PASSWORD, '$1***$2') : text;
  return withoutUrls.includes('=') ? withoutUrls.replace(KEYWORD_PASSWORD, '$1***') : withoutUrls;
}
