// The log of one attempt: its first and last lines, to the byte, whatever comes between.
import { describe, expect, it } from 'vitest';
import { describeLine, readLine } from '../../../../src/model/run/log/log-line.js';
import { RunLog } from '../../../../src/model/run/log/run-log.js';
import { fc } from '../../../support/seed.js';

const add = (log: RunLog, text: string, at = 0) => log.add(describeLine('info', text, {}, 1_048_576), at);
const textsOf = (part: string) =>
  part
    .split('\n')
    .slice(0, -1)
    .map(line => readLine(line).text);
/** A line that takes so many bytes in a log, its line end included. */
const FRAME = Buffer.byteLength('[0,"i",""]\n');
const ofBytes = (bytes: number, char = 'a') => char.repeat(bytes - FRAME);

describe('a run’s log', () => {
  it('keeps every line in order, with its time, as long as there is room', () => {
    const log = new RunLog(1024);
    add(log, 'one', 100);
    add(log, 'two', 100.4);
    add(log, 'three', 2350);
    const { head, tail, cutBytes, cutLines, elapsedMs } = log.unwritten(3000);
    expect(head).toBe('[0,"i","one"]\n[0,"i","two"]\n[2250,"i","three"]\n');
    expect([tail, cutBytes, cutLines, elapsedMs]).toEqual(['', 0, 0, 2900]);
  });

  it.each(['a', 'é', '語', '😀'])('fills both halves to the byte with lines of %s', char => {
    const log = new RunLog(1024);
    // 128 bytes each: four fill the head exactly, four the tail.
    const fill = (count: number) => {
      const size = Buffer.byteLength(char);
      const rest = 128 - FRAME;
      return `${String(count)}${'.'.repeat((rest - 1) % size)}${char.repeat(Math.floor((rest - 1) / size))}`;
    };
    for (let count = 0; count < 8; count++) add(log, fill(count));
    const full = log.unwritten(0);
    expect([Buffer.byteLength(full.head), Buffer.byteLength(full.tail)]).toEqual([512, 512]);
    expect([full.cutBytes, full.cutLines]).toEqual([0, 0]);
    add(log, fill(8));
    const cut = log.unwritten(0);
    expect([Buffer.byteLength(cut.head), Buffer.byteLength(cut.tail)]).toEqual([512, 512]);
    expect([cut.cutBytes, cut.cutLines]).toEqual([128, 1]);
    expect(textsOf(cut.head).map(text => text[0])).toEqual(['0', '1', '2', '3']);
    expect(textsOf(cut.tail).map(text => text[0])).toEqual(['5', '6', '7', '8']);
  });

  it('begins the tail with the first line for which the head has no room, one byte too long', () => {
    const log = new RunLog(1024);
    for (const bytes of [128, 128, 128, 129]) add(log, ofBytes(bytes));
    const { head, tail } = log.unwritten(0);
    expect([Buffer.byteLength(head), Buffer.byteLength(tail)]).toEqual([384, 129]);
    add(log, ofBytes(20));
    expect(Buffer.byteLength(log.unwritten(0).head)).toBe(384);
  });

  it('loses no byte without saying so', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1024, max: 8192 }),
        fc.array(fc.string({ unit: 'grapheme', maxLength: 400 }), { maxLength: 120 }),
        (maxBytes, texts) => {
          const log = new RunLog(maxBytes);
          let produced = 0;
          const kept: string[] = [];
          for (const text of texts) {
            const line = describeLine('info', text, {}, maxBytes);
            log.add(line, 0);
            produced += Buffer.byteLength(`[0,${line.body}\n`) + line.cutBytes;
            kept.push(readLine(`[0,${line.body}`).text);
          }
          const { head, tail, cutBytes, cutLines } = log.unwritten(0);
          const [first, last] = [textsOf(head), textsOf(tail)];
          expect(Buffer.byteLength(head) + Buffer.byteLength(tail) + cutBytes).toBe(produced);
          expect(Buffer.byteLength(head) + Buffer.byteLength(tail)).toBeLessThanOrEqual(maxBytes);
          expect(first).toEqual(kept.slice(0, first.length));
          expect(last).toEqual(kept.slice(kept.length - last.length));
          expect(first.length + cutLines + last.length).toBe(texts.length);
        },
      ),
    );
  });

  it('holds a flood of 10 MB in the room that it was given', { tags: 'check' }, () => {
    const log = new RunLog(65_536);
    const text = 'x'.repeat(100);
    for (let count = 0; count < 100_000; count++) add(log, `${count} ${text}`);
    const { head, tail, cutLines } = log.unwritten(0);
    expect(textsOf(head)[0]).toBe(`0 ${text}`);
    expect(textsOf(tail).at(-1)).toBe(`99999 ${text}`);
    expect(textsOf(head).length + cutLines + textsOf(tail).length).toBe(100_000);
    // What it holds is what it would write, and a bounded number of empty places.
    const { tail: places } = log as unknown as { tail: string[] };
    expect(places.length).toBeLessThan(4000);
    expect(places.join('').length).toBeLessThan(65_536);
  });

  it('writes again only what is new', () => {
    const log = new RunLog(1024);
    expect(log.hasUnwritten).toBe(false);
    add(log, ofBytes(300));
    const first = log.unwritten(0);
    add(log, ofBytes(300, 'b'));
    log.noteWritten(first);
    expect(log.hasUnwritten).toBe(true);
    const second = log.unwritten(0);
    // The head has not changed since: it is not sent again.
    expect([second.head, textsOf(second.tail)[0]?.[0]]).toEqual(['', 'b']);
    log.noteWritten(second);
    expect(log.hasUnwritten).toBe(false);
    log.segment = 3;
    log.noteGone();
    expect([log.hasUnwritten, log.segment]).toEqual([true, null]);
    expect(textsOf(log.unwritten(0).head)[0]?.[0]).toBe('a');
  });
});
