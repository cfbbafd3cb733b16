// The fields of a payload, for a form: from its schema, where that says what it takes (Standard JSON Schema,
// as Zod has it); and the payload that was filled in.
import { TockError } from '../../errors.js';
import { quote } from '../../names.js';
import { readJson } from './json-text.js';

/** A property of a payload. `json`: its value is written as JSON. */
export interface PayloadField {
  readonly name: string;
  readonly kind: 'text' | 'number' | 'boolean' | 'choice' | 'json';
  readonly isRequired: boolean;
  /** Of a choice. */
  readonly choices: readonly string[];
  /** What it is without being filled in, as text; empty: nothing. */
  readonly initial: string;
  readonly description: string;
}

interface Property {
  readonly type?: unknown;
  readonly enum?: unknown;
  readonly default?: unknown;
  readonly description?: unknown;
}

const MAX_FIELDS = 30;

/** Null: the schema does not say, or takes no plain object. */
export function payloadFields(schema: unknown): readonly PayloadField[] | null {
  const described = jsonSchemaOf(schema);
  if (described?.['type'] !== 'object') return null;
  const properties = described['properties'];
  if (typeof properties !== 'object' || properties === null) return null;
  const entries = Object.entries(properties as Record<string, Property>);
  if (entries.length > MAX_FIELDS) return null;
  const required = Array.isArray(described['required']) ? (described['required'] as unknown[]) : [];
  return entries.map(([name, property]) => fieldOf(name, property, required.includes(name)));
}

function fieldOf(name: string, property: Property, isRequired: boolean): PayloadField {
  const { type, enum: choices, default: initial, description } = property;
  const isChoice = Array.isArray(choices) && choices.every(each => typeof each === 'string');
  const kinds = { string: 'text', integer: 'number', number: 'number', boolean: 'boolean' } as const;
  const kind = isChoice ? 'choice' : (kinds[type as keyof typeof kinds] ?? 'json');
  const isText = kind === 'text' || kind === 'choice';
  return {
    name,
    kind,
    isRequired: isRequired && initial === undefined,
    choices: isChoice ? choices : [],
    initial:
      initial === undefined ? '' : isText && typeof initial === 'string' ? initial : JSON.stringify(initial),
    description: typeof description === 'string' ? description : '',
  };
}

/** A schema of another library, or one that cannot be described, gives none. */
function jsonSchemaOf(schema: unknown): Readonly<Record<string, unknown>> | null {
  try {
    const { '~standard': standard } = schema as {
      '~standard'?: { jsonSchema?: { input?: (options: { target: string }) => unknown } };
    };
    const described = standard?.jsonSchema?.input?.({ target: 'draft-2020-12' });
    return typeof described === 'object' && described !== null
      ? (described as Record<string, unknown>)
      : null;
  } catch {
    return null;
  }
}

/**
 * The payload of a filled-in form. What is empty is left out.
 * @param get what was written in a field
 * @throws TockError TOCK_BAD_PAYLOAD, naming the field
 */
export function payloadOfForm(fields: readonly PayloadField[], get: (name: string) => string): object {
  const payload: [string, unknown][] = [];
  for (const field of fields) {
    const text = get(field.name);
    if (text !== '') payload.push([field.name, valueOf(field, text)]);
  }
  return Object.fromEntries(payload);
}

const KINDS = {
  number: [/^\s*-?(?:0|[1-9]\d*)(?:\.\d+)?(?:e[+-]?\d+)?\s*$/i, 'a number'],
  boolean: [/^\s*(?:true|false)\s*$/, 'true or false'],
} as const;

function valueOf({ name, kind }: PayloadField, text: string): unknown {
  if (kind === 'text' || kind === 'choice') return text;
  if (kind === 'json') return readJson(text, name);
  const [is, what] = KINDS[kind];
  if (is.test(text)) return readJson(text, name);
  throw new TockError('TOCK_BAD_PAYLOAD', `${name} ${quote(text)} is not ${what}`);
}
