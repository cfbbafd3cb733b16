// Checks names of time zones. Accepts only names that both PostgreSQL and Intl have.
import { editDistance } from '../../nearest.js';
import { badSchedule, show } from '../bad-schedule.js';

const SHORT_NAMES =
  'CET CST6CDT Cuba EET EST EST5EDT Egypt Eire GB GB-Eire GMT GMT+0 GMT-0 GMT0 Greenwich HST Hongkong Iceland Iran Israel Jamaica Japan Kwajalein Libya MET MST MST7MDT NZ NZ-CHAT Navajo PRC PST8PDT Poland Portugal ROC ROK Singapore Turkey UCT UTC Universal W-SU WET Zulu';
/** The zones without a `/` that are in the IANA database. Intl has more (PST, IST), PostgreSQL does not. */
const SHORT: ReadonlySet<string> = new Set(SHORT_NAMES.toLowerCase().split(' '));
/** The regions of the IANA database. Intl has one more (SystemV). */
const REGIONS: ReadonlySet<string> = new Set(
  'africa america antarctica arctic asia atlantic australia brazil canada chile etc europe indian mexico pacific us'.split(
    ' ',
  ),
);
/** Cities that people write and the IANA database does not have; the city whose zone they share. */
const OTHER_CITIES: Readonly<Record<string, string>> = {
  'Africa/Johannesburg': 'cape_town durban pretoria',
  'Africa/Lagos': 'abuja',
  'America/Chicago': 'austin dallas houston minneapolis new_orleans',
  'America/Los_Angeles': 'las_vegas portland san_diego san_francisco san_jose seattle',
  'America/New_York': 'atlanta boston miami philadelphia pittsburgh washington washington_dc',
  'America/Sao_Paulo': 'brasilia rio rio_de_janeiro',
  'America/Toronto': 'ottawa quebec',
  'Asia/Dubai': 'abu_dhabi',
  'Asia/Jerusalem': 'haifa',
  'Asia/Karachi': 'islamabad lahore',
  'Asia/Kolkata': 'bangalore bengaluru bombay chennai delhi hyderabad mumbai new_delhi pune',
  'Asia/Shanghai': 'beijing guangzhou peking shenzhen',
  'Asia/Tokyo': 'kyoto nagoya osaka',
  'Australia/Sydney': 'newcastle',
  'Europe/Berlin': 'cologne dusseldorf frankfurt hamburg munich stuttgart',
  'Europe/Istanbul': 'ankara',
  'Europe/London': 'birmingham edinburgh glasgow liverpool manchester',
  'Europe/Madrid': 'barcelona seville valencia',
  'Europe/Moscow': 'saint_petersburg st_petersburg',
  'Europe/Paris': 'lyon marseille nice toulouse',
  'Europe/Rome': 'florence milan naples turin venice',
  'Europe/Zurich': 'basel bern geneva',
  'Pacific/Auckland': 'christchurch wellington',
};
const OFFSET = /^(?:utc|gmt)?\s*([+-])(\d{1,2})(?::?([0-5]\d))?$/i;
const MAX_LENGTH = 64;
let listed: ReadonlySet<string> | undefined;

/**
 * Checks that a name is an IANA time zone, in any case of letters.
 * @throws TockError TOCK_BAD_SCHEDULE with a hint: the nearest name, or why offsets and `local` are refused
 */
export function checkZoneName(name: unknown): asserts name is string {
  if (typeof name !== 'string')
    throw badSchedule(`timezone is ${show(name)}; write an IANA name such as Europe/Berlin`);
  if (isZone(name)) return;
  throw badSchedule(`timezone ${show(name)} is not known; ${hint(name)}`);
}

/** Whether a text names a region, or a zone without one, though the place may be misspelt. */
export function namesRegion(text: string): boolean {
  const [region = '', ...place] = text.toLowerCase().split('/');
  return place.length === 0 ? SHORT.has(region) : REGIONS.has(region);
}

/** Whether this process's data, and PostgreSQL, have a zone. */
export function isZone(name: string): boolean {
  if (!/^[A-Za-z][A-Za-z0-9_+/-]*$/.test(name) || name.length > MAX_LENGTH) return false;
  if (!namesRegion(name)) return false;
  if (!name.includes('/')) return true;
  // US/Pacific-New: an old name that ICU keeps and PostgreSQL does not.
  if (name.toLowerCase() === 'us/pacific-new') return false;
  // Intl's list takes 2 ms, the first formatter 10 to 40 ms, which an idle tick should not spend. The list
  // lacks old names and other cases.
  listed ??= new Set(Intl.supportedValuesOf('timeZone'));
  if (listed.has(name)) return true;
  try {
    return new Intl.DateTimeFormat('en-US', { timeZone: name }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
}

function hint(name: string): string {
  const text = name.trim();
  if (text === '') return 'write an IANA name such as Europe/Berlin, or leave the option out for UTC';
  if (text.toLowerCase() === 'local' || text.toLowerCase() === 'localtime') {
    return 'hosts differ in their local zone; write the one you mean, such as Europe/Berlin';
  }
  const offset = OFFSET.exec(text);
  if (offset) return offsetHint(offset[1] ?? '+', Number(offset[2]), offset[3] ?? '00');
  const near = text.length > MAX_LENGTH ? undefined : nearest(text);
  return near === undefined ? 'write an IANA name such as Europe/Berlin or UTC' : `did you mean ${near}?`;
}

function offsetHint(sign: string, hours: number, minutes: string): string {
  const place = 'a place such as Europe/Berlin follows daylight saving time';
  if (minutes !== '00' || hours > 12 || hours === 0) return `offsets are not zones; ${place}`;
  // In Etc names the sign is that of POSIX: Etc/GMT-3 is three hours ahead of UTC.
  return `offsets are not zones; ${place}, and Etc/GMT${sign === '+' ? '-' : '+'}${hours} is always UTC${sign}${hours}`;
}

function nearest(text: string): string | undefined {
  const wanted = text.toLowerCase().replaceAll(' ', '_');
  const names = Intl.supportedValuesOf('timeZone');
  const wantedCity = wanted.slice(wanted.lastIndexOf('/') + 1);
  const city = names.find(name => name.toLowerCase().endsWith(`/${wantedCity}`));
  if (city !== undefined) return city;
  const shared = Object.entries(OTHER_CITIES).find(([, cities]) => cities.split(' ').includes(wantedCity));
  if (shared !== undefined) return shared[0];
  let best: string | undefined;
  let least = 3;
  for (const name of names) {
    if (Math.abs(name.length - wanted.length) >= least) continue;
    const lower = name.toLowerCase();
    if (lower[0] !== wanted[0]) continue;
    const steps = editDistance(lower, wanted);
    if (steps < least) [best, least] = [name, steps];
  }
  return best;
}
