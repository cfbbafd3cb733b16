// Reads values of JSON or YAML, whatever they are.

export type Values = Readonly<Record<string, unknown>>;

export const isObject = (value: unknown): value is Values =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Empty if it is no object. */
export const objectOf = (value: unknown): Values => (isObject(value) ? value : {});

/** Empty if it is no list. */
export const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** Null if it is neither a text nor a number. */
export const textOf = (value: unknown): string | null =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? String(value) : null;

/** Null if it is no whole number. */
export const numberOf = (value: unknown): number | null =>
  Number.isInteger(value) ? (value as number) : null;
