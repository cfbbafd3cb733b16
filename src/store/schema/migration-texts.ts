// The texts of the migrations, loaded only to apply them. The build replaces this file by them
// (scripts/embed-migrations.mjs).
import { readFileSync } from 'node:fs';
import { MIGRATION_NAMES } from './migration-names.js';

export interface MigrationText {
  /** Such as `0001_the_ledger.sql`. */
  readonly name: string;
  readonly text: string;
}

/** In order. */
export const MIGRATION_TEXTS: readonly MigrationText[] = MIGRATION_NAMES.map(name => ({
  name,
  text: readFileSync(new URL(`../../../migrations/${name}`, import.meta.url), 'utf8'),
}));
