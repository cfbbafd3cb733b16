// Dumps the database each night. A dump has its name only when it is whole.
import { defineShellJob } from 'pg-tock';

export const dumpDatabase = defineShellJob({
  name: 'dump-database',
  schedule: {
    cron: '15 2 * * *',
    timezone: 'Europe/Berlin',
    // After an outage: at most until the morning, not beside the day's work.
    startDeadline: '4h',
  },
  shell: `
    set -eu
    day=$(printf %.10s "$TOCK_SCHEDULED_FOR")
    file="$BACKUP_FOLDER/shop-\${day:-run-$TOCK_RUN_ID}.dump"
    mkdir -p "$BACKUP_FOLDER"
    pg_dump --format=custom --file="$file.part" "$BACKUP_DATABASE"
    pg_restore --list "$file.part" > "$file.list.part"
    grep -c TABLE "$file.list.part" | sed 's/$/ tables and their data/'
    rm "$file.list.part"
    mv "$file.part" "$file"
    du -h "$file"
  `,
  retry: { maxAttempts: 3, base: '10m' },
  timeout: '2h',
});
