// typeOnly: a payload's type without a schema.

import type { StorableParts, Stored } from './payload/json.js';
import type { StandardSchemaV1 } from './payload/standard-schema.js';

const TYPE_ONLY: StandardSchemaV1 = {
  '~standard': { version: 1, vendor: 'pg-tock', validate: value => ({ value }) },
};

/**
 * Gives a job's payload a type without a schema: `payload: typeOnly<{ userId: number }>()`. The compiler
 * checks callers and the handler; where the type has a Date, the handler gets its ISO text, and what JSON
 * cannot hold (a bigint, a Map, a function) does not compile. Nothing is checked at run time: what plain
 * JavaScript or SQL enqueues reaches the handler as it is. A schema (zod, valibot, arktype …) would refuse
 * it.
 */
export function typeOnly<T extends StorableParts<T>>(): StandardSchemaV1<T, Stored<T>> {
  return TYPE_ONLY as StandardSchemaV1<T, Stored<T>>;
}

export function isTypeOnly(schema: unknown): boolean {
  return schema === TYPE_ONLY;
}
