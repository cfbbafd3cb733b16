// The local date of an instant in an IANA time zone, as YYYY-MM-DD.

/** The calendar date of an instant in a time zone, as `2026-03-08`. */
export function civilDate(at: Date, timeZone: string): string {
  // Swedish writes dates the ISO way.
  return new Intl.DateTimeFormat('sv-SE', {
    timeZone,
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
  }).format(at);
}

/** Whether this host knows the time zone. */
export function isTimeZone(name: string): boolean {
  try {
    civilDate(new Date(0), name);
    return true;
  } catch {
    return false;
  }
}
