// A Node that is too old says so in one line, and not that a module of Node's lacks something.
import { spawnSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';

/** An older Node, as far as it says. */
const PRELOAD = `data:text/javascript,${encodeURIComponent(
  `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.18.3' } });
  Object.defineProperty(process, 'version', { value: 'v20.18.3' });`,
)}`;
const SAID = 'Tock needs Node 20.19 or later, and this is v20.18.3';
const run = (...args: string[]) =>
  spawnSync(process.execPath, ['--import', PRELOAD, ...args], { encoding: 'utf8' });

describe('under a Node that is too old', () => {
  it.each(['dist/cli.js', 'dist/tick.js'])('%s says so in one line, and fails', async program => {
    const { status, stdout, stderr } = run(program, '--help');
    expect([status, stdout, stderr]).toEqual([1, '', `${SAID}\n`]);
    // It comes so far only if all that is imported before can be linked.
    const imported = (await readFile(program, 'utf8')).matchAll(/^import (.*) from "(.*)";$/gm);
    expect(
      [...imported].map(([, , from]) => from).filter(from => !/^node:(?:fs|path|url)$/.test(from ?? '')),
    ).toEqual([]);
  });

  it('a require throws an error that says so', () => {
    const { status, stderr } = run('-e', `require('./dist/index.cjs')`);
    expect(status).toBe(1);
    expect(stderr).toContain(`Error: ${SAID}`);
  });
});
