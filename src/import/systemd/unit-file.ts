// Reads a unit file of systemd: sections with settings, each of which may occur more than once.

/** The values of each setting, as `Timer.OnCalendar`; an empty one has removed those before it. */
export type UnitFile = ReadonlyMap<string, readonly string[]>;

export function readUnitFile(text: string): UnitFile {
  const settings = new Map<string, string[]>();
  let section = '';
  // A backslash at the end continues the line.
  for (const written of text.replace(/\\\r?\n(?:[ \t]*[#;][^\n]*\n)*/g, ' ').split(/\r?\n/)) {
    const line = written.trim();
    if (line === '' || /^[#;]/.test(line)) continue;
    const [, name] = /^\[(.+)\]$/.exec(line) ?? [];
    if (name !== undefined) {
      section = name;
      continue;
    }
    const [, key = '', value = ''] = /^([^=]*?)\s*=\s*([^]*)$/.exec(line) ?? [];
    if (key === '') continue;
    const full = `${section}.${key}`;
    if (value === '') settings.set(full, []);
    else settings.set(full, [...(settings.get(full) ?? []), value]);
  }
  return settings;
}

/** The last value of a setting, which is the one that counts; null: it is not set. */
export function lastOf(unit: UnitFile, name: string): string | null {
  return unit.get(name)?.at(-1) ?? null;
}

/** Whether a setting is on; systemd knows four words for it. */
export const isOn = (unit: UnitFile, name: string): boolean =>
  /^(?:1|yes|true|on)$/i.test(lastOf(unit, name) ?? '');

/** The words of a command or of a list of assignments, without quotes. Null: a quote has no end. */
export function splitWords(text: string): string[] | null {
  const words: string[] = [];
  let word: string | null = null;
  let quote = '';
  for (let at = 0; at < text.length; at++) {
    const char = text.charAt(at);
    if (char === '\\' && at + 1 < text.length) word = (word ?? '') + escaped(text.charAt(++at));
    else if (quote !== '') {
      if (char === quote) quote = '';
      else word = (word ?? '') + char;
    } else if (char === '"' || char === "'") {
      quote = char;
      word ??= '';
    } else if (/\s/.test(char)) {
      if (word !== null) words.push(word);
      word = null;
    } else word = (word ?? '') + char;
  }
  if (quote !== '') return null;
  return word === null ? words : [...words, word];
}

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', s: ' ' };
const escaped = (char: string): string => ESCAPES[char] ?? char;
