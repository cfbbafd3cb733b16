// How the rows of Tock's own statements are read: each brings its parsers. Neither what an app has set for
// its queries (pg.types.setTypeParser, `types` of its pool) nor a session's DateStyle changes that.
import type pg from 'pg';

type Parse = (text: string) => unknown;

const asIs: Parse = text => text;

/** Seconds with their six decimals, as `extract(epoch from …)` of an instant writes them. */
const EPOCH = /^(-?)(\d+)\.(\d{6})$/;

/**
 * The one numeric that statements select is the epoch of an instant; see `instant` in readable-instant.ts.
 * Infinite ones are numbers, as `pg` has them.
 */
export function readEpoch(text: string): Date | number {
  if (text === 'Infinity' || text === '-Infinity') return Number(text);
  const [, sign, seconds, micros = ''] = EPOCH.exec(text) ?? [];
  if (seconds === undefined) throw new Error(`${text} is no epoch: cast a numeric that a statement selects`);
  const whole = Number(seconds) * 1000;
  // A part of a millisecond is cut off towards the past.
  if (sign === '-') return new Date(-whole - Math.ceil(Number(micros) / 1000));
  return new Date(whole + Math.floor(Number(micros) / 1000));
}

/** Types whose text is as DateStyle, IntervalStyle, bytea_output or lc_monetary say, and their arrays. */
export const UNREADABLE_OIDS: ReadonlySet<number> = new Set([
  // bytea, money, date, timestamp, timestamptz, interval
  17, 1001, 790, 791, 1082, 1182, 1114, 1115, 1184, 1185, 1186, 1187,
]);

const refuse: Parse = text => {
  throw new Error(`the text of a selected value depends on the session (${text}): select an epoch, or text`);
};

/** By the type's oid; all others are read as text, such as bigint, of which a number holds 53 bits. */
const PARSERS: ReadonlyMap<number, Parse> = new Map<number, Parse>([
  ...[...UNREADABLE_OIDS].map((oid): [number, Parse] => [oid, refuse]),
  // boolean
  [16, text => text === 't'],
  // smallint, integer, oid, real, double precision
  ...[21, 23, 26, 700, 701].map((oid): [number, Parse] => [oid, Number]),
  // numeric
  [1700, readEpoch],
  // json, jsonb
  [114, JSON.parse],
  [3802, JSON.parse],
  // name[], text[], bigint[]
  ...[1003, 1009, 1016].map((oid): [number, Parse] => [oid, parseTextArray]),
  // smallint[], integer[], oid[], double precision[]
  ...[1005, 1007, 1028, 1022].map((oid): [number, Parse] => [oid, numbersOf]),
]);

const ELEMENT = /"((?:[^"\\]|\\[\s\S])*)"|([^",{}]+)/g;

/** Of what the server writes for an array of one dimension: {a,"b c","d\"e",NULL}. */
function parseTextArray(text: string): (string | null)[] {
  return [...text.matchAll(ELEMENT)].map(([, quoted, plain = '']) => {
    if (quoted !== undefined) return quoted.replace(/\\([\s\S])/g, '$1');
    return plain === 'NULL' ? null : plain;
  });
}

function numbersOf(text: string): (number | null)[] {
  return parseTextArray(text).map(each => (each === null ? null : Number(each)));
}

/** What a query of `pg` takes as `types`. */
export const OWN_TYPES: pg.CustomTypesConfig = {
  getTypeParser: (oid: number) => PARSERS.get(oid) ?? asIs,
};
