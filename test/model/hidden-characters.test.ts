// Characters that hide or reverse text are shown as what they are.
import { describe, expect, it } from 'vitest';
import { composeMessage } from '../../src/model/alerts/message.js';
import { showHidden, showHiddenInPage } from '../../src/model/hidden-characters.js';
import { quote } from '../../src/model/names.js';
import { show } from '../../src/model/schedule/bad-schedule.js';

describe('showHidden', () => {
  it('escapes controls and what changes the direction of text, and nothing else', () => {
    expect(showHidden('a\u202Eb\u2066c\u200Fd\u0007e\u001Bf\u009Bg\u2028h\ri')).toBe(
      String.raw`a\u202eb\u2066c\u200fd\u0007e\u001bf\u009bg\u2028h\u000di`,
    );
    const plain = 'żółć 日本語 🦊 👩‍👩‍👧 עברית e\u0301\tx\ny';
    expect(showHidden(plain)).toBe(plain);
  });

  it('leaves the value of JSON as it is', () => {
    const value = { key: 'a\u202Eb', text: '\u0007\u2029\\u202e\u007F' };
    expect(JSON.parse(showHidden(JSON.stringify(value)))).toEqual(value);
  });
});

it('showHiddenInPage escapes what people read, and not what forms send', () => {
  const page = (char: string, value = char) =>
    `<p title="a${char}" class="x">b${char} &lt;i&gt;</p><input name="n" value="${value}"><a href="/?q=${value}">c${char}</a>`;
  expect(showHiddenInPage(page('\u202E'))).toBe(page(String.raw`\u202e`, '\u202E'));
  expect(showHiddenInPage(page('x'))).toBe(page('x'));
});

it('texts for people have no hidden characters: messages, schedules that are refused, alerts', () => {
  const hostile = 'invoice\u202Egpj.exe\u0007';
  const shown = String.raw`invoice\u202egpj.exe\u0007`;
  expect(quote(hostile)).toBe(`"${shown}"`);
  expect(show(hostile)).toBe(`"${shown}"`);
  const at = '2026-03-01T12:00:00.000Z';
  const flip = {
    kind: 'down',
    rule: 'r',
    when: 'dead',
    subject: hostile,
    at,
    since: at,
    runId: '1',
    zone: null,
    error: { name: null, message: hostile, cause: null },
  } as const;
  const message = composeMessage('1', [{ ...flip, detail: hostile }], {
    timezone: null,
    dashboard: null,
  });
  expect(message.text).toBe(`${shown} has a dead run: ${shown} (2026-03-01 12:00 UTC): tock show 1`);
  expect(message.title).toContain(shown);
  expect(message.alerts[0]).toMatchObject({ subject: shown, detail: shown, error: shown });
});
