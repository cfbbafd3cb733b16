// The app's own tables, beside those of Tock in the same database.
import { type Generated, Kysely, PostgresDialect, sql } from 'kysely';
import type pg from 'pg';

export interface Tables {
  invoices: {
    id: Generated<string>;
    customer: string;
    email: string;
    cents: number;
    issued_at: Generated<Date>;
    sent_at: Date | null;
  };
  daily_reports: { day_end: Date; invoices: number; cents: number };
  tickets: { id: Generated<string>; run: string; text: string };
}

export function openDatabase(pool: pg.Pool): Kysely<Tables> {
  return new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) });
}

/** Safe to repeat. */
export const TABLES = `
create table if not exists invoices (
  id bigint generated always as identity primary key,
  customer text not null,
  email text not null,
  cents integer not null check (cents > 0),
  issued_at timestamptz not null default now(),
  sent_at timestamptz
);
create table if not exists daily_reports (
  day_end timestamptz primary key,
  invoices integer not null,
  cents integer not null
);
create table if not exists tickets (
  id bigint generated always as identity primary key,
  run text not null,
  text text not null
);`;

export async function createTables(db: Kysely<Tables>): Promise<void> {
  await sql.raw(TABLES).execute(db);
}
