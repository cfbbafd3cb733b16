// A tool that an agent may call: what it is called, what role it needs, what it takes, and what it does.
import type { Session } from '../answers/reads.js';
import type { Operator, Role } from '../model/operator.js';
import type { Tock } from '../tock/types.js';

/** For whom a call is made, and with what. */
export interface Agent {
  /** Acts for the agent: its role is checked by each method, and its name is in the audit. */
  readonly tock: Tock;
  /** Read-only transactions with a statement timeout of 5 s. */
  readonly reads: Session;
  readonly operator: Operator;
}

export interface Answer {
  /** Data: they are cleaned, cut and fenced. */
  readonly lines: readonly string[];
  /** Tock's own words, outside the fence: how to go on. No name or text from the database. */
  readonly next?: string;
}

type Property = Readonly<Record<string, unknown>> & { readonly description: string };

/** JSON Schema of an object, which has no other properties. */
export interface InputSchema {
  readonly type: 'object';
  readonly properties: Readonly<Record<string, Property>>;
  readonly required: readonly string[];
  readonly additionalProperties: false;
}

export function takes(properties: InputSchema['properties'], required: readonly string[] = []): InputSchema {
  return { type: 'object', properties, required, additionalProperties: false };
}

export const text = (description: string, maxLength = 500): Property => ({
  type: 'string',
  minLength: 1,
  maxLength,
  description,
});
export const whole = (description: string, minimum: number, maximum: number): Property => ({
  type: 'integer',
  minimum,
  maximum,
  description,
});
export const oneOf = (description: string, values: readonly string[]): Property => ({
  type: 'string',
  enum: values,
  description,
});
export const several = (description: string, values: readonly string[]): Property => ({
  type: 'array',
  items: { type: 'string', enum: values },
  minItems: 1,
  description,
});

export interface Tool<Args = never> {
  readonly name: string;
  readonly title: string;
  /** The least role that may call it. Its methods check the role again. */
  readonly role: Role;
  /** What it answers or does, for the model that chooses it. */
  readonly description: string;
  readonly input: InputSchema;
  /** It stops or ends work. */
  readonly isDestructive?: boolean;
  /** @param args have been checked against `input` */
  readonly call: (agent: Agent, args: Args) => Promise<Answer>;
}
