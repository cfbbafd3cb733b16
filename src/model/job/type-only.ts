// Room: model. typeOnly: a payload's type without a schema.
// In: a type. Out: what stands in the place of the schema, and checks nothing.
import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { Stored } from './json.js';

const TYPE_ONLY: StandardSchemaV1 = {
  '~standard': { version: 1, vendor: 'pg-tock', validate: value => ({ value }) },
};

/**
 * Gives the payload of a job a type, without a schema: `payload: typeOnly<{ userId: number }>()`. Callers and
 * the handler are checked by the compiler; where the type has a Date, the handler gets its ISO text. Nothing
 * is checked at run time: what plain JavaScript or SQL enqueues reaches the handler as it is. A schema (zod,
 * valibot, arktype …) would refuse it.
 */
export function typeOnly<T>(): StandardSchemaV1<T, Stored<T>> {
  return TYPE_ONLY as StandardSchemaV1<T, Stored<T>>;
}

/** Whether a job's `payload` gives a type and no check. */
export function isTypeOnly(schema: unknown): boolean {
  return schema === TYPE_ONLY;
}
