// The reader's time zone, which the script keeps in a cookie.

const NAME = /^[A-Za-z][A-Za-z0-9_+-]*(?:\/[A-Za-z0-9_+-]+){0,2}$/;
const MAX_KNOWN = 1000;
const known = new Map<string, boolean>();

/** The zone if Node knows it; otherwise UTC. */
export function readerZone(text: string | undefined): string {
  if (text === undefined || text.length > 64 || !NAME.test(text)) return 'UTC';
  let isZone = known.get(text);
  if (isZone === undefined) {
    isZone = isTimeZone(text);
    if (known.size < MAX_KNOWN) known.set(text, isZone);
  }
  return isZone ? text : 'UTC';
}

function isTimeZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
}
