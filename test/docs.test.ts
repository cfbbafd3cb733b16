// Documents that are generated are what the code says; tests that documents name are there.
import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { VARIABLES } from '../src/runtime/configuration.js';

const ROOT = path.join(import.meta.dirname, '..');
const read = (file: string) => readFileSync(path.join(ROOT, file), 'utf8');

describe('docs/state-machine.md', () => {
  it('is what src/model/run/states.ts says', async () => {
    const { stdout } = await promisify(execFile)(process.execPath, ['scripts/generate-docs.mjs', '--check']);
    expect(stdout).toMatch(/up to date/);
  });
});

describe('docs/guarantees.md', () => {
  const text = read('docs/guarantees.md');
  /** The rows of the tables whose last column names tests, by cells. */
  const rows = text
    .split(/^\| .*\| test \|\n\| --- .*\n/m)
    .slice(1)
    .flatMap(after => (/^(?:\|.*\n)+/.exec(after)?.[0] ?? '').trimEnd().split('\n'))
    .map(row => row.slice(2, -2).split(' | '));
  const named = rows.flatMap(row =>
    (row.at(-1) ?? '').split('<br>').map(told => {
      const [, file = '', name = ''] = /^`([^`]+)` › (.+)$/.exec(told) ?? [];
      return { told, file, name };
    }),
  );

  it('names a test for every promise and every fault', () => {
    expect(rows.length).toBeGreaterThan(40);
    expect(named.filter(({ file, name }) => file === '' || name === '').map(({ told }) => told)).toEqual([]);
  });

  it('names tests that are there', () => {
    const holds = ({ file, name }: (typeof named)[number]) =>
      file.endsWith('.test.ts') &&
      existsSync(path.join(ROOT, file)) &&
      ["'", '"', '`'].some(quote => read(file).includes(quote + name + quote));
    expect(named.filter(each => !holds(each)).map(({ told }) => told)).toEqual([]);
  });
});

describe('docs/monitoring.md', () => {
  it('has every event that is logged, and no other', () => {
    const sources = ['src', 'jobs'].flatMap(folder =>
      readdirSync(path.join(ROOT, folder), { recursive: true, encoding: 'utf8' })
        .filter(name => /\.tsx?$/.test(name))
        .map(name => read(path.join(folder, name))),
    );
    const find = (pattern: RegExp) =>
      sources.flatMap(source => [...source.matchAll(pattern)].map(([, event = '']) => event));
    const prefixes = find(/\bevent: `(\w+\.)\$/g).filter(prefix => prefix !== 'reminder.');
    const steps = find(/\brefusableStep\(\s*\w+,\s*\{\s*name: '(\w+)'/g);
    const events = new Set([
      ...find(/\bevent: (?:'\w+\.\w+' \| )*'(\w+\.\w+)'/g),
      ...steps.flatMap(step => [`${step}.failed`, `${step}.resumed`]),
    ]);
    expect(steps.length).toBeGreaterThan(0);
    const [, section = ''] = read('docs/monitoring.md').split('### Log events');
    const listed = [...(section.split('\n## ')[0] ?? '').matchAll(/^\|[^|]*\|/gm)]
      .flatMap(([cell]) => [...cell.matchAll(/`(\w+\.\w+)`/g)])
      .map(([, event = '']) => event);
    expect(events.size).toBeGreaterThan(30);
    expect([...events].filter(event => !listed.includes(event))).toEqual([]);
    expect(prefixes.filter(prefix => !listed.some(event => event.startsWith(prefix)))).toEqual([]);
    const isLogged = (event: string) =>
      events.has(event) || prefixes.some(prefix => event.startsWith(prefix));
    expect(listed.filter(event => !isLogged(event))).toEqual([]);
  });
});

describe('docs/operations.md', () => {
  const text = read('docs/operations.md');

  it('has every environment variable that is read', () => {
    const listed = [...text.matchAll(/^\| `([A-Z_]+)` \|/gm)].map(([, name]) => name);
    expect(listed).toEqual(Object.keys(VARIABLES));
  });
});

describe('docs/commands.md', () => {
  const text = read('docs/commands.md');

  it('has every command', () => {
    const commands = readdirSync(path.join(ROOT, 'src/cli/commands'), { recursive: true, encoding: 'utf8' })
      .filter(name => name.endsWith('.ts'))
      .flatMap(name => [...read(`src/cli/commands/${name}`).matchAll(/program\s*\.command\('([\w-]+)/g)])
      .map(([, name = '']) => name);
    expect(commands.length).toBeGreaterThan(15);
    expect(commands.filter(name => !new RegExp(`\`${name}\\b`).test(text))).toEqual([]);
  });
});

describe('the links between documents', () => {
  const documents = [
    ...readdirSync(ROOT).filter(name => name.endsWith('.md')),
    ...readdirSync(path.join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
      .filter(name => name.endsWith('.md'))
      .map(name => path.join('docs', name)),
  ];
  const anchor = (heading: string) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-');

  it('lead to files, and to headings in them', () => {
    const broken = documents.flatMap(from =>
      [...read(from).matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)/g)]
        .filter(([, file = '', place]) => {
          const to = file === '' ? from : path.join(path.dirname(from), file);
          if (!existsSync(path.join(ROOT, to))) return true;
          if (place === undefined) return false;
          return ![...read(to).matchAll(/^#+ (.+)$/gm)].some(([, heading = '']) => anchor(heading) === place);
        })
        .map(([link]) => `${from}: ${link}`),
    );
    expect(broken).toEqual([]);
  });
});
