// What llms.txt tells an agent is there: commands, documents, and names of the package.
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import * as library from '../../src/index.js';
import { openWarmCli } from './cli-harness.js';

const ROOT = path.join(import.meta.dirname, '..', '..');
const text = readFileSync(path.join(ROOT, 'llms.txt'), 'utf8');
const find = (pattern: RegExp, source = text) => [...source.matchAll(pattern)].map(([, found = '']) => found);
const warm = openWarmCli();
afterAll(async () => await warm.close());

const helpOf = async (words: string) => (await warm.call([...words.split(' '), '--help'])).stdout;
/** Names in a help's list of commands. */
const listed = (help: string) =>
  (help.split('\nEnvironment:')[0] ?? '')
    .split('\nExamples:')[0]
    ?.match(/^ {2}[a-z][a-z-]*(?= )/gm)
    ?.map(name => name.trim()) ?? [];

describe('llms.txt', () => {
  it('names commands and flags that are there', async () => {
    const lines = [...text.matchAll(/(?:npx |`)tock ([a-z-]+(?: install\b)?)([^`#\n]*)/g)];
    expect(lines.length).toBeGreaterThan(15);
    for (const [line, name = '', rest = ''] of lines) {
      const help = await helpOf(name);
      expect(help, line).toMatch(new RegExp(`^Usage: tock ${name} `));
      for (const flag of find(/(--[a-z-]+)/g, rest)) expect(help, line).toContain(`${flag} `);
    }
  });

  it('says truly which commands have --help with examples, and --json', { tags: 'check' }, async () => {
    const without: string[] = [];
    const names = listed((await warm.call(['--help'])).stdout);
    expect(names.length).toBeGreaterThan(40);
    for (const name of names) {
      const help = await helpOf(name);
      const subs = listed(help.split('\nCommands:')[1] ?? '').map(sub => `${name} ${sub}`);
      for (const each of [name, ...subs]) {
        const text = await helpOf(each);
        expect(text, each).toMatch(new RegExp(`^Usage: tock ${each} `));
        // Its own help has those of its subcommands.
        if (!each.startsWith('group '))
          expect(text, each).toMatch(new RegExp(`\nExamples:\n {2}.*tock ${each}`));
        if (!(each === name && subs.length > 0) && !/^ {2}--json /m.test(text)) without.push(each);
      }
    }
    const [said = ''] = /--json`, except[^.]*/.exec(text) ?? [];
    expect(without.toSorted()).toEqual(find(/`tock ([a-z-]+)`/g, said).toSorted());
  });

  it('names documents that are there', () => {
    const documents = find(/\b(docs\/[\w/-]+\.md)/g);
    expect(documents.length).toBeGreaterThan(10);
    expect(documents.filter(file => !existsSync(path.join(ROOT, file)))).toEqual([]);
  });

  it('imports what the package exports, and names its entries', () => {
    const names = find(/import \{ ([^}]+) \} from 'pg-tock'/g).flatMap(list => list.split(', '));
    expect(names).toContain('defineJob');
    expect(names.filter(name => !(name in library))).toEqual([]);
    const { exports } = JSON.parse(readFileSync(path.join(ROOT, 'package.json'), 'utf8')) as {
      readonly exports: object;
    };
    const entries = find(/`pg-tock(\/[a-z]+)`/g);
    expect(entries.length).toBeGreaterThan(3);
    expect(entries.filter(entry => !(`.${entry}` in exports))).toEqual([]);
  });

  it('calls methods that a Tock has', async () => {
    const tock = library.createTock({ connectionString: 'postgres://127.0.0.1:1/nowhere', jobs: [] });
    const called = find(/\btock\.([a-z]\w*(?:\.[a-z]\w*)?)[(`]/gi);
    expect(called.length).toBeGreaterThan(10);
    const methodOf = (names: string) =>
      names.split('.').reduce<unknown>((from, name) => (from as Record<string, unknown>)?.[name], tock);
    expect(called.filter(names => typeof methodOf(names) !== 'function')).toEqual([]);
    await tock.close();
  });
});
