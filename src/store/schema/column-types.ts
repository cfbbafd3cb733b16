// The types of columns, as Kysely's builder and the compiler see them.
import type { ColumnType, InsertType, SelectType, UpdateType } from 'kysely';

/** Read as text: a JavaScript number holds no more than 53 bits. */
export type Bigint = ColumnType<string, string | number, string | number>;
export type Timestamp = ColumnType<Date, Date | string, Date | string>;
/** Written as text, because the driver would send an array as a PostgreSQL array. */
export type Jsonb<T = unknown> = ColumnType<T, string, string>;
export type Uuid = string;
export type Oid = number;
export type Xid = string;
/** The same with its epoch: unique for ever. */
export type Xid8 = string;
export type Defaulted<T> = ColumnType<SelectType<T>, InsertType<T> | undefined, UpdateType<T>>;

export type Float = number;

/** Read and computed in SQL only. */
export type Multirange = string;
export type Jsonpath = string;
