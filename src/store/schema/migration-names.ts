// The names of the migrations that this version needs, in order. The build replaces this file by the list
// (scripts/embed-migrations.mjs): an installation reads no folder, only the sources read migrations/.
import { readdirSync } from 'node:fs';

export const MIGRATION_NAMES: readonly string[] = readdirSync(
  new URL('../../../migrations/', import.meta.url),
)
  .filter(name => /^\d{4}_[\w-]+\.sql$/.test(name))
  .sort();
