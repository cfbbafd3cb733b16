// Values as JSON keeps them.
import type { HandOff } from '../hand-off.js';

/** A value that JSON can hold; payloads and outputs are stored as such. */
export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json };

/** A value as it comes back from JSON: a Date as text, an object with toJSON as its result. */
export type Stored<T> = 0 extends 1 & T
  ? unknown
  : unknown extends T
    ? unknown
    : T extends Json
      ? T
      : T extends { toJSON: (...input: never) => infer Written }
        ? Stored<Written>
        : T extends undefined
          ? T
          : T extends bigint | symbol | ((...input: never) => unknown)
            ? never
            : T extends readonly unknown[]
              ? { [Index in keyof T]: NullForUndefined<Stored<T[Index]>> }
              : { [Key in keyof T]: Stored<T[Key]> };

/**
 * A payload's type where it can be stored; each part that JSON cannot hold is replaced by what to do about
 * it, which it does not extend. A Date is stored as text.
 */
export type Storable<T> = unknown extends T
  ? T
  : T extends Json | Date | undefined
    ? T
    : T extends bigint
      ? 'JSON has no bigint: pass it as text'
      : T extends Unstorable
        ? 'JSON cannot hold this: pass plain objects, arrays, texts and numbers'
        : StorableParts<T>;

/** {@link Storable} of each part: what the type of a payload has to extend. */
export type StorableParts<T> = { readonly [Key in keyof T]: Storable<T[Key]> };

/** What no payload holds: functions, and objects of classes, which would lose what they hold. */
export type Unstorable =
  | symbol
  | ((...input: never) => unknown)
  | { toJSON: (...input: never) => unknown }
  | ReadonlyMap<unknown, unknown>
  | ReadonlySet<unknown>
  | WeakMap<never, unknown>
  | WeakSet<never>
  | Promise<unknown>
  | RegExp
  | Error
  | ArrayBufferView
  | ArrayBufferLike;

/** An element of an array: JSON makes null of undefined. */
export type NullForUndefined<T> = unknown extends T
  ? unknown
  : Exclude<T, undefined> | (undefined extends T ? null : never);

/**
 * A handler's result as its run keeps it. Null until the run has succeeded, or if nothing was returned. Any
 * JSON if the handler may hand the run off: then another system gives the result.
 */
export type StoredOutput<Output> =
  // oxlint-disable-next-line typescript/no-invalid-void-type -- a handler may return nothing
  | Stored<Exclude<Output, void | HandOff>>
  | ([Extract<Output, HandOff>] extends [never] ? never : Json)
  | null;
