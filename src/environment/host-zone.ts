// The time zone of this process.
import { checkZoneName } from '../model/schedule/zone/zone-names.js';

/**
 * The zone that TZ names, or that of the host; UTC where schedules cannot have it: for an empty or unknown
 * TZ, or a path, Intl names a zone that it refuses itself, or none.
 */
export function hostZone(): string {
  const { timeZone } = new Intl.DateTimeFormat().resolvedOptions();
  try {
    checkZoneName(timeZone);
    return timeZone;
  } catch {
    return 'UTC';
  }
}
