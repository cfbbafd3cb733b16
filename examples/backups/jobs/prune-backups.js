// Deletes dumps that are older than 30 days, and what a killed dump has left behind.
import { defineShellJob } from 'pg-tock';

export const pruneBackups = defineShellJob({
  name: 'prune-backups',
  // Not while dumps fail: then the old ones are all there is.
  schedule: { after: 'dump-database' },
  shell: `
    set -eu
    find "$BACKUP_FOLDER" -name 'shop-*.dump' -mtime +30 -print -delete
    find "$BACKUP_FOLDER" -name 'shop-*.part' -mtime +1 -print -delete
  `,
  retry: { maxAttempts: 3, base: '5m' },
  timeout: '10m',
});
