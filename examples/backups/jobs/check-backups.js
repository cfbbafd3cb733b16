// Looks each morning whether there is a new dump. A dead run of it is the alarm; so is a request that does not come.
import { defineShellJob } from 'pg-tock';

export const checkBackups = defineShellJob({
  name: 'check-backups',
  schedule: { cron: '0 9 * * *', timezone: 'Europe/Berlin' },
  shell: `
    set -eu
    newest=$(find "$BACKUP_FOLDER" -name 'shop-*.dump' -mmin -1560 -size +0 | sort | tail -n 1)
    if [ -z "$newest" ]; then
      echo "there is no dump of the last 26 hours in $BACKUP_FOLDER" >&2
      exit 1
    fi
    echo "the newest dump is $newest"
    if [ -n "\${HEALTHCHECK_URL:-}" ]; then
      curl --fail --silent --show-error --max-time 10 --output /dev/null "$HEALTHCHECK_URL" || exit 75
    fi
  `,
  // No backup is final. Only the request is worth another attempt.
  retryCodes: [75],
  retry: { maxAttempts: 4, base: '1m' },
  timeout: '2m',
});
