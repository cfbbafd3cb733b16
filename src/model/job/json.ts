// Room: model. Values as JSON keeps them. Types only.
// In: nothing. Out: what JSON can hold, and what it makes of a value that a handler returns.

/** A value that JSON can hold, which is what payloads and outputs are stored as. */
export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json };

/** A value as it comes back from JSON: a Date as text, what has a toJSON as what that gives. */
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

/** An element of an array, of which JSON makes null where it is undefined. */
export type NullForUndefined<T> = unknown extends T
  ? unknown
  : Exclude<T, undefined> | (undefined extends T ? null : never);

/**
 * What a handler returned, as its run keeps it. Null until it has succeeded, or where the handler returned
 * nothing.
 */
// oxlint-disable-next-line typescript/no-invalid-void-type -- a handler may return nothing
export type StoredOutput<Output> = Stored<Exclude<Output, void>> | null;
