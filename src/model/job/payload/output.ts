// The part of a handler's result that is kept as the run's output, and a warning about the part that is lost.
import { describeOutput } from '../../run/sanitize.js';
import type { Json } from './json.js';
import { isPlain } from './payload.js';

export interface KeptOutput {
  readonly output: Json | null;
  /** What is left out, why, and what to return instead; null: nothing is. */
  readonly warning: string | null;
}

export function keepOutput(value: unknown): KeptOutput {
  const output = describeOutput(value);
  return { output, warning: output === null ? null : warningOf(value, output) };
}

function warningOf(value: unknown, output: Json): string | null {
  try {
    const reason = leftOut(output);
    // A handler may return an older run's output.
    if (reason !== null && leftOut(value) === null)
      return `the output is left out: ${reason}; return plain JSON, or store the data in a table of your own and return its id`;
    if (isPlain(value, 0)) return null;
    const [first, ...more] = lossesOf(value);
    if (first === undefined) return null;
    return more.length === 0 ? first : `${first} (and ${more.length} more)`;
  } catch {
    // A hostile getter. It is kept anyway.
    return null;
  }
}

/** The note in place of an output; null: it is none. */
function leftOut(value: unknown): string | null {
  if (typeof value !== 'object' || value === null) return null;
  const reason = (value as Readonly<Record<string, unknown>>)['outputLeftOut'];
  return typeof reason === 'string' ? reason : null;
}

/** Where JSON keeps nothing of a part, or null. JSON.stringify says what it asks for, after each toJSON. */
function lossesOf(value: unknown): readonly string[] {
  const losses: string[] = [];
  const paths = new Map<unknown, string>();
  JSON.stringify(value, function (this: unknown, key: string, part: unknown) {
    const above = paths.get(this);
    const path =
      above === undefined ? 'output' : Array.isArray(this) ? `${above}[${key}]` : `${above}.${key}`;
    if (typeof part === 'object' && part !== null) paths.set(part, path);
    const loss = lossOf(part);
    if (loss !== null) losses.push(`${path} is ${loss}`);
    return part;
  });
  return losses;
}

function lossOf(part: unknown): string | null {
  if (typeof part === 'function' || typeof part === 'symbol')
    return `a ${typeof part}, which JSON leaves out: return text, or nothing`;
  if (typeof part === 'number' && !Number.isFinite(part))
    return `${part}, which JSON keeps as null: return null, or text`;
  if (typeof part !== 'object' || part === null || Array.isArray(part) || Object.keys(part).length > 0)
    return null;
  const prototype: unknown = Object.getPrototypeOf(part);
  if (prototype === null || Object.getPrototypeOf(prototype) === null) return null;
  return `a ${part.constructor.name}, which JSON keeps as {}: ${INSTEAD.find(([type]) => part instanceof type)?.[1] ?? 'return its parts as plain JSON'}`;
}

const INSTEAD = [
  [Map, 'return Object.fromEntries(map)'],
  [Set, 'return an array, [...set]'],
  [Promise, 'await it'],
  [Error, 'return its message'],
] as const;
