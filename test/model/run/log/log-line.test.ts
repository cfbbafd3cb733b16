// A line of a run's log: storable whatever was logged, bounded, without secrets, and read back as it was.
import { describe, expect, it } from 'vitest';
import { LOG_LEVELS, type LogLevel } from '../../../../src/model/job/logs-option.js';
import { describeLine, readLine } from '../../../../src/model/run/log/log-line.js';
import { fc } from '../../../support/seed.js';

const MAX = 65_536;
const line = (text: string, fields: Record<string, unknown> = {}, level: LogLevel = 'info', max = MAX) => {
  const described = describeLine(level, text, fields, max);
  return { ...described, read: readLine(`[7,${described.body}`), bytes: Buffer.byteLength(described.body) };
};

describe('describeLine', () => {
  it.each(LOG_LEVELS)('keeps a text, its fields and the level %s', level => {
    const { read, cutBytes } = line('grüß dich', { n: 1, who: { name: 'Ada' } }, level);
    expect(read).toEqual({ ms: 7, level, text: 'grüß dich', fields: { n: 1, who: { name: 'Ada' } } });
    expect(cutBytes).toBe(0);
  });

  it('has no fields where none were given', () => {
    expect(line('plain').read.fields).toBeNull();
    expect(line('plain').body).toBe('"i","plain"]');
  });

  it('is one line, whatever the text holds', { tags: 'check' }, () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 300 }), text => {
        const { body, read } = line(text);
        expect(body).not.toContain('\n');
        expect(read.text).toBe(text.replaceAll('\0', '\uFFFD').toWellFormed());
      }),
    );
  });

  it('holds what PostgreSQL stores: no NUL and no lone surrogate, in fields too', () => {
    const { read, body } = line('a\0b\uD800c', { 'k\0': 'v\uDC00' });
    expect(read.text).toBe('a\uFFFDb\uFFFDc');
    expect(read.fields).toEqual({ 'k\uFFFD': 'v\uFFFD' });
    expect(body.isWellFormed()).toBe(true);
  });

  it('holds no password', () => {
    const { body } = line('to postgres://ada:s3cret@db/app', {
      url: 'postgres://ada:s3cret@db',
      c: 'password=s3cret',
    });
    expect(body).not.toContain('s3cret');
    expect(readLine(`[0,${body}`).text).toBe('to postgres://ada:***@db/app');
  });

  it('finds a password that the cut would split', () => {
    const { body } = line(`${'x'.repeat(8100)} postgres://ada:${'s3cret'.repeat(20)}@db/app`);
    expect(body).not.toContain('s3cret');
  });

  it.each([
    ['a', 1],
    ['é', 2],
    ['語', 3],
    ['😀', 4],
    ['\u0001', 1],
    ['"', 1],
  ])('cuts a long text of %j between two characters, and says how many bytes are missing', (char, size) => {
    const count = 100_000;
    const { read, bytes, cutBytes } = line(char.repeat(count));
    const [, kept = '', missing = ''] = /^([^]*)… \((\d+) more bytes\)$/.exec(read.text) ?? [];
    expect([...new Set(kept)]).toEqual([char]);
    expect(Buffer.byteLength(kept) + Number(missing)).toBe(count * size);
    expect(cutBytes).toBe(Number(missing));
    expect(bytes).toBeLessThanOrEqual(8192);
  });

  it('takes no more than a quarter of a small log', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1024, max: 40_000 }),
        fc.string({ unit: 'grapheme', maxLength: 2000 }),
        fc.dictionary(fc.string({ maxLength: 50 }), fc.string({ maxLength: 500 }), { maxKeys: 4 }),
        (max, text, fields) => {
          const { bytes, body } = line(text, fields, 'warn', max);
          expect(bytes).toBeLessThanOrEqual(max / 4);
          expect(() => JSON.parse(`[0,${body}`) as unknown).not.toThrow();
        },
      ),
    );
  });

  it('leaves out stacks first, then fields that are too large, and counts them', () => {
    const error = new TypeError('too far');
    error.stack = `TypeError: too far\n${'    at somewhere\n'.repeat(400)}`;
    const { read, cutBytes } = line('failed', { err: error });
    expect(read.fields).toEqual({ err: { type: 'TypeError', message: 'too far' } });
    expect(cutBytes).toBeGreaterThan(4000);
    const large = line('large', { blob: 'x'.repeat(10_000) });
    expect(large.read.fields).toEqual({ fieldsLeftOut: large.cutBytes });
    expect(large.cutBytes).toBe(10_011);
  });

  it('keeps an error with its code and stack', () => {
    const { fields } = line('failed', {
      err: Object.assign(new RangeError('too far'), { code: 'E_FAR' }),
    }).read;
    expect(fields).toMatchObject({ err: { type: 'RangeError', code: 'E_FAR', message: 'too far' } });
    expect(JSON.stringify(fields)).toContain('log-line.test');
  });

  it('survives hostile fields', () => {
    const hostile = {
      get x(): never {
        throw new Error('no');
      },
    };
    expect(line('still there', hostile).read.text).toBe('still there');
  });
});

it('readLine shows a damaged line as it is', () => {
  expect(readLine('no JSON')).toEqual({ ms: 0, level: 'info', text: 'no JSON', fields: null });
});
