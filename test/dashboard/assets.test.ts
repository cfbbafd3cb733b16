// What a browser loads: how much, from where, and nothing that the policy forbids.
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { readAssets } from '../../src/dashboard/assets.js';

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
