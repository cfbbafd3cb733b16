// The Gregorian calendar as arithmetic, free of Date and of any zone. Valid for the years 0 to 10,000.

export const DAY_SECONDS = 86_400;
/** The first and last year in which a schedule has occurrences. */
export const FIRST_YEAR = 1900;
export const LAST_YEAR = 2200;

/**
 * Days since 1970-01-01 of a date; month 1-12, day 1-31.
 *
 * Source: Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms", days_from_civil.
 */
function daysFromDate(year: number, month: number, day: number): number {
  const y = month <= 2 ? year - 1 : year;
  const era = Math.floor(y / 400);
  const yearOfEra = y - era * 400;
  const dayOfYear = Math.floor((153 * (month > 2 ? month - 3 : month + 9) + 2) / 5) + day - 1;
  const dayOfEra = yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear;
  return era * 146_097 + dayOfEra - 719_468;
}

/**
 * The date of a day number, packed into one integer, so that a walk allocates nothing; read it with
 * {@link yearOf}, {@link monthOf} and {@link dayOf}. Source: as above, civil_from_days.
 */
export function packedDate(days: number): number {
  const z = days + 719_468;
  const era = Math.floor(z / 146_097);
  const dayOfEra = z - era * 146_097;
  const yearOfEra = Math.floor(
    (dayOfEra -
      Math.floor(dayOfEra / 1460) +
      Math.floor(dayOfEra / 36_524) -
      Math.floor(dayOfEra / 146_096)) /
      365,
  );
  const dayOfYear = dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const monthFromMarch = Math.floor((5 * dayOfYear + 2) / 153);
  const day = dayOfYear - Math.floor((153 * monthFromMarch + 2) / 5) + 1;
  const month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9;
  const year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0);
  return (year << 9) | (month << 5) | day;
}

export const yearOf = (packed: number): number => packed >> 9;
/** 1-12. */
export const monthOf = (packed: number): number => (packed >> 5) & 15;
/** 1-31. */
export const dayOf = (packed: number): number => packed & 31;

/** @param month 1-12 */
export function monthLength(year: number, month: number): number {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28;
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
}

/** 0 is Sunday. */
export function weekdayOf(days: number): number {
  // 1970-01-01 was a Thursday; the second modulo keeps days before it positive.
  return (((days + 4) % 7) + 7) % 7;
}

const DATE = /^(\d{4})-(\d{2})-(\d{2})$/;

/** The day number of `'YYYY-MM-DD'`; null for anything but a date of the calendar. */
export function readDate(text: string): number | null {
  const match = DATE.exec(text);
  if (!match) return null;
  const [year, month, day] = match.slice(1).map(Number);
  if (year === undefined || month === undefined || day === undefined) return null;
  if (month < 1 || month > 12 || day < 1 || day > monthLength(year, month)) return null;
  return daysFromDate(year, month, day);
}
