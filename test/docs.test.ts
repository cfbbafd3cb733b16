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
  const testsIn = (part: string) => [...part.matchAll(/`(test\/[^`]*)`/g)].map(([, file = '']) => file);
  const ofPromises = text
    .split(/^\| promise \| mechanism \|\n\| --- .*\n/m)
    .slice(1)
    .flatMap(after => (/^(?:\|.*\n)+/.exec(after)?.[0] ?? '').trimEnd().split('\n'))
    .map(row => testsIn(row));
  const [, faults = ''] = text.split('## Injected faults');
  const ofFaults = (faults.split('\n## ')[0] ?? '')
    .split('\n- ')
    .slice(1)
    .map(fault => testsIn(fault.split('\n\n')[0] ?? ''));

  it('names files of tests for every promise and every fault', () => {
    expect(ofPromises.length).toBeGreaterThan(90);
    expect(ofFaults.length).toBeGreaterThan(15);
    expect([...ofPromises, ...ofFaults].filter(files => files.length === 0)).toEqual([]);
  });

  it('names files that are there, and hold tests', () => {
    const holds = (file: string) =>
      file.endsWith('.test.ts') && existsSync(path.join(ROOT, file)) && /^\s*it[.(]/m.test(read(file));
    expect([...ofPromises, ...ofFaults].flat().filter(file => !holds(file))).toEqual([]);
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

  it('show every chart and picture there is', () => {
    const texts = [...documents, 'site/home.md'].map(read).join('');
    const shown = ['charts', 'pictures'].flatMap(folder =>
      readdirSync(path.join(ROOT, 'docs', folder)).map(name => `${folder}/${name}`),
    );
    expect(shown.filter(name => !texts.includes(name))).toEqual([]);
  });
});
