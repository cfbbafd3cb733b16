// Model: what the audit keeps of an action.
import { describe, expect, it } from 'vitest';
import { changesBetween, detailsText } from '../../src/model/audit.js';

describe('changesBetween', () => {
  it('names what differs, with both values', () => {
    expect(
      changesBetween({ cron: '0 3 * * *', queue: 'a' }, { cron: '0 4 * * *', queue: 'a', window: null }),
    ).toEqual({ cron: { from: '0 3 * * *', to: '0 4 * * *' } });
  });

  it('says of a payload only that it was changed', () => {
    const changes = changesBetween({ payload: { iban: 'DE1' } }, { payload: { iban: 'DE2' } });
    expect(changes).toEqual({ payload: 'changed' });
  });

  it('compares documents whatever the order of their keys, and instants as text', () => {
    const at = new Date('2026-03-08T00:00:00Z');
    expect(
      changesBetween(
        { rate: { count: 1, perMs: 2 }, at },
        { rate: { perMs: 2, count: 1 }, at: at.toISOString() },
      ),
    ).toEqual({});
  });

  it('takes what is absent for null', () => {
    expect(changesBetween({}, { window: undefined, cron: '* * * * *' })).toEqual({
      cron: { from: null, to: '* * * * *' },
    });
  });

  it('keeps the beginning of a value that is too long', () => {
    const changes = changesBetween({}, { exclude: Array.from({ length: 500 }, () => '2026-12-24') });
    const { to } = changes['exclude'] as { to: string };
    expect(to.length).toBe(501);
    expect(to).toMatch(/^\["2026-12-24",.*…$/);
  });
});

describe('detailsText', () => {
  it('leaves out what is absent', () => {
    expect(detailsText({ job: 'a', note: undefined })).toBe('{"job":"a"}');
  });

  it('drops what PostgreSQL cannot store', () => {
    expect(detailsText({ note: 'a\0b\ud800' })).toBe('{"note":"ab\ufffd"}');
    // A backslash that is meant is no NUL.
    expect(JSON.parse(detailsText({ note: '\\u0000' }))).toEqual({ note: '\\u0000' });
  });

  it('keeps the beginnings of details that are too long', () => {
    const text = detailsText({ filter: { error: 'x'.repeat(9000) }, job: 'a' });
    expect(text.length).toBeLessThan(1000);
    expect(JSON.parse(text)).toMatchObject({ job: 'a', filter: expect.stringContaining('xxx') });
  });
});
