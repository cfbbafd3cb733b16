// Tables in terminals of any width: which columns stay, and which end of a text is cut.
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it } from 'vitest';
import { type Column, drawTable } from '../../../src/cli/views/table.js';

const COLUMNS: readonly Column[] = [
  { title: 'id', align: 'right' },
  { title: 'job', flexible: true },
  { title: 'status' },
  { title: 'attempts', optional: true },
  { title: 'due (UTC)', keepsEnd: true },
  { title: 'took', optional: true },
  { title: 'error', flexible: true },
];
const ROW = [
  '812',
  'send-invoice-reminders',
  'dead',
  '10/10',
  '2026-03-08 02:30:00',
  '1m 2s',
  'Error: no such',
];

async function draw(terminal: number | null): Promise<string[]> {
  return stripVTControlCharacters(await drawTable(COLUMNS, [ROW], terminal)).split('\n');
}

describe('a table', () => {
  it('has all columns where they fit, and in a pipe', async () => {
    for (const terminal of [200, null])
      expect((await draw(terminal)).join('\n')).toMatch(/attempts.*due.*took[^]*10\/10.*2026-03-08 02:30:00/);
  });

  it('leaves out optional columns before it cuts the time, the last of them first', async () => {
    const [wide, narrow] = [(await draw(84)).join('\n'), (await draw(72)).join('\n')];
    expect(wide).toContain('attempts');
    expect(wide).not.toContain('took');
    expect(wide).toContain('2026-03-08 02:30:00');
    expect(narrow).not.toContain('attempts');
    expect(narrow).toContain('2026-03-08 02:30:00');
  });

  it('keeps the time of day, not the date, in a terminal that is narrower still', async () => {
    const lines = await draw(52);
    expect(lines.join('\n')).toMatch(/…[\d -]*02:30:00/);
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(52);
  });
});
