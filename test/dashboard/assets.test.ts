// What a browser loads: how much, from where, and nothing that the policy forbids.
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import vm from 'node:vm';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { readAssets } from '../../src/dashboard/assets.js';
import { relativeText } from '../../src/dashboard/layout/text.js';

const ROOT = path.join(import.meta.dirname, '../..');
const FOLDER = path.join(ROOT, 'src/dashboard');

describe('what a browser loads', () => {
  const { script, style } = readAssets();

  it('has less than 40 KB of JavaScript and less than 20 KB of CSS, compressed', () => {
    const size = (text: string) => gzipSync(text).byteLength;
    expect(size(script.content)).toBeLessThan(40 * 1024);
    expect(size(style.content)).toBeLessThan(20 * 1024);
    // htmx is in it, and ours after it.
    expect(script.content.length).toBeGreaterThan(30_000);
    expect(script.content).toContain("byId('notice')");
  });

  it('is named by its content', () => {
    expect(script.path).toMatch(/^\/assets\/tock-[0-9a-f]{12}\.js$/);
    expect(style.path).toMatch(/^\/assets\/tock-[0-9a-f]{12}\.css$/);
    expect(style.content.indexOf('--ground')).toBeGreaterThan(-1);
  });

  it('comes from nowhere else', () => {
    for (const { content } of [style]) expect(content).not.toMatch(/@import|url\(|https?:/);
    expect(readFileSync(path.join(FOLDER, 'assets/tock.js'), 'utf8')).not.toMatch(
      /https?:|innerHTML|eval\(|Function\(/,
    );
  });
});

it('a time that goes on in the browser is written as the server writes it', () => {
  const [functions] =
    /^ {2}function span[^]*?^ {2}\}\n {2}function ago[^]*?^ {2}\}$/m.exec(
      readFileSync(path.join(FOLDER, 'assets/tock.js'), 'utf8'),
    ) ?? [];
  const ago = vm.runInNewContext(`${functions}; ago`) as (ms: number) => string;
  const now = new Date('2026-07-01T09:13:24Z');
  const spans = [0, 999, 1000, 1499, 1500, 59_499, 59_500, 59_999, 60_000, 61_000, 3_599_500, 3_600_000];
  const days = [1, 2.5, 29.99, 30, 30.4, 365].map(count => count * 86_400_000);
  const random = Array.from({ length: 500 }, (_, index) => Math.floor(1.045 ** index));
  for (const ms of [...spans, ...days, ...days.map(day => day - 1), ...random].flatMap(each => [each, -each]))
    expect([ms, ago(ms)]).toEqual([ms, relativeText(new Date(now.getTime() + ms), now)]);
});

describe('the pages', () => {
  const sources = readdirSync(FOLDER, { recursive: true, encoding: 'utf8' })
    .filter(name => /\.tsx?$/.test(name))
    .map(name => ({ name, text: readFileSync(path.join(FOLDER, name), 'utf8') }));

  it('have neither styles nor scripts of their own, which the policy would drop', () => {
    expect(sources.length).toBeGreaterThan(5);
    const wrong = sources.filter(({ text }) =>
      /\bstyle=|\bon[a-z]+=["{]|\bhx-on|hx-vals|javascript:/.test(text),
    );
    expect(wrong.map(({ name }) => name)).toEqual([]);
  });

  it('never write what is not escaped', () => {
    const wrong = sources.filter(({ text }) =>
      /dangerouslySetInnerHTML|\braw\(|from 'hono\/html'/.test(text),
    );
    // Two write the document's type, and nothing else; the third escapes each value.
    expect(wrong.map(({ name }) => name).sort()).toEqual([
      'layout/bare-page.tsx',
      'layout/document.tsx',
      'layout/markup.ts',
    ]);
  });
});
