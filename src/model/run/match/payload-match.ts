// What is looked for in payloads: `customer=812 order.state=open`, or JSON that they contain.
//
// A path goes through objects. A value that could be a number or text is looked for as both: who asks for
// customer 812 seldom knows how it is stored.
import { TockError } from '../../errors.js';
import { isStorable, quote } from '../../names.js';

/** JSON texts of which a payload contains at least one. */
export type PayloadCondition = readonly string[];

const MAX_TEXT = 8192;
const CONDITION = /\s*([^\s="{}[\]]+)=("(?:[^"\\]|\\.)*"|[^\s"]\S*)(?=\s|$)/y;
const HELP =
  'write a path and its value, as customer=812 or order.state="in transit", or JSON as {"customer": 812}';

/**
 * Reads conditions, all of which must hold. Numbers stay as they are written, of any size.
 * @throws TockError TOCK_BAD_OPTION
 */
export function readPayloadMatch(text: unknown): readonly PayloadCondition[] {
  if (typeof text !== 'string' || text.length > MAX_TEXT)
    throw bad(`payload must be text of at most ${MAX_TEXT} characters; ${HELP}`);
  const json = text.trim();
  if (isJson(json)) return [[checkStorable(json, text)]];
  if (/^[{["]/.test(json) || json === '') throw bad(`payload ${quote(text)} is not JSON; ${HELP}`);
  const found: PayloadCondition[] = [];
  CONDITION.lastIndex = 0;
  for (let at = 0; at < json.length; at = CONDITION.lastIndex) {
    CONDITION.lastIndex = at;
    const [, path = '', value = ''] = CONDITION.exec(json) ?? [];
    const names = path.split('.');
    if (names.includes('')) throw bad(`payload ${quote(text)} is not understood; ${HELP}`);
    found.push(valuesOf(value).map(each => checkStorable(nested(names, each), text)));
  }
  return found;
}

/** A number, true, false and null may be text as well; what is quoted or structured is only that. */
function valuesOf(value: string): readonly string[] {
  const asText = JSON.stringify(value);
  if (!isJson(value)) return [asText];
  return /^["{[]/.test(value) ? [value] : [value, asText];
}

const nested = (names: readonly string[], value: string): string =>
  names.reduceRight((inner, name) => `{${JSON.stringify(name)}:${inner}}`, value);

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

const STRINGS = /"(?:[^"\\]|\\.)*"/g;
const HUGE = /e[+-]?0*[1-9]\d{4}/i;

/** JSON allows numbers of any size, and a NUL that is written as an escape; PostgreSQL does not. */
function checkStorable(json: string, text: string): string {
  if (HUGE.test(json.replace(STRINGS, '')))
    throw bad(`payload ${quote(text)} has a number that PostgreSQL cannot read`);
  JSON.parse(json, (key, value: unknown) => {
    if (!isStorable(key) || (typeof value === 'string' && !isStorable(value)))
      throw bad(`payload ${quote(text)} has a character that PostgreSQL cannot store`);
    return value;
  });
  return json;
}

const bad = (message: string) => new TockError('TOCK_BAD_OPTION', message);
