// Reads JSON5, in which the payloads of graphile-worker's crontab are written. One line has no comments.

/** @throws Error that says what is wrong, and at which character */
export function readJson5(text: string): unknown {
  const reader = new Reader(text);
  const value = reader.value();
  reader.end();
  return value;
}

const NUMBER = /[+-]?(?:0x[\da-f]+|(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)/iy;
const NAME = /[\p{ID_Start}$_][\p{ID_Continue}$\u200C\u200D]*/uy;
const ESCAPES: Readonly<Record<string, string>> = {
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
  0: '\0',
};
const WORDS: ReadonlyMap<string, unknown> = new Map<string, unknown>([
  ['true', true],
  ['false', false],
  ['null', null],
]);

class Reader {
  private readonly text: string;
  private at = 0;

  constructor(text: string) {
    this.text = text;
  }

  value(): unknown {
    this.space();
    const char = this.text.charAt(this.at);
    if (char === '{') return this.object();
    if (char === '[') return this.list();
    if (char === '"' || char === "'") return this.string();
    const number = this.match(NUMBER);
    if (number !== null) return numberOf(number);
    const word = this.match(NAME);
    if (word !== null && WORDS.has(word)) return WORDS.get(word);
    // NaN and Infinity are no JSON, so no queue keeps them.
    throw this.wrong(word === null ? 'a value is missing' : `${word} is no value of JSON`);
  }

  end(): void {
    this.space();
    if (this.at < this.text.length) throw this.wrong('something follows the payload');
  }

  private object(): Record<string, unknown> {
    const entries: [string, unknown][] = [];
    this.at++;
    for (;;) {
      this.space();
      if (this.take('}')) return Object.fromEntries(entries);
      const quoted = /^['"]/.test(this.text.slice(this.at, this.at + 1));
      const name = quoted ? this.string() : this.match(NAME);
      if (name === null) throw this.wrong('the name of a property is missing');
      this.space();
      if (!this.take(':')) throw this.wrong(`: is missing after ${name}`);
      entries.push([name, this.value()]);
      this.space();
      if (!this.take(',') && this.text.charAt(this.at) !== '}') throw this.wrong('} is missing');
    }
  }

  private list(): unknown[] {
    const values: unknown[] = [];
    this.at++;
    for (;;) {
      this.space();
      if (this.take(']')) return values;
      values.push(this.value());
      this.space();
      if (!this.take(',') && this.text.charAt(this.at) !== ']') throw this.wrong('] is missing');
    }
  }

  private string(): string {
    const quote = this.text.charAt(this.at++);
    let string = '';
    for (;;) {
      const char = this.text.charAt(this.at++);
      if (char === '') throw this.wrong('a quote is missing');
      if (char === quote) return string;
      string += char === '\\' ? this.escape() : char;
    }
  }

  private escape(): string {
    const char = this.text.charAt(this.at++);
    const digits = char === 'x' ? 2 : 4;
    if (char !== 'x' && char !== 'u') return ESCAPES[char] ?? char;
    const code = this.text.slice(this.at, this.at + digits);
    if (!/^[\da-f]+$/i.test(code) || code.length < digits)
      throw this.wrong(`\\${char} needs ${digits} digits`);
    this.at += digits;
    return String.fromCharCode(Number.parseInt(code, 16));
  }

  private space(): void {
    while (/\s/.test(this.text.charAt(this.at))) this.at++;
  }

  private take(char: string): boolean {
    if (this.text.charAt(this.at) !== char) return false;
    this.at++;
    return true;
  }

  private match(pattern: RegExp): string | null {
    pattern.lastIndex = this.at;
    const [found] = pattern.exec(this.text) ?? [];
    if (found === undefined) return null;
    this.at += found.length;
    return found;
  }

  private wrong(what: string): Error {
    return new Error(`${what}, at character ${this.at + 1} of ${this.text}`);
  }
}

function numberOf(text: string): number {
  const sign = text.startsWith('-') ? -1 : 1;
  return sign * Number(text.replace(/^[+-]/, ''));
}
