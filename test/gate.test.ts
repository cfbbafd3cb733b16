// What `npm test` executes is certain: held by rules about its files. What is not certain has the tag check, or is in a
// file *.check.test.ts.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

const ROOT = path.join(import.meta.dirname, '..');
const read = (file: string) => readFileSync(path.join(ROOT, file), 'utf8');

/** What is told of the rules themselves. */
const RULES = ['test/gate.test.ts', 'test/architecture.test.ts'];
/** See vitest.config.ts: the projects exhaustive and chaos. */
const ELSEWHERE =
  /\.check\.test\.ts$|^test\/chaos\/|^test\/relay\/(?:rabbitmq|jetstream|python|kills)\.test\.ts$/;

const testFiles = readdirSync(path.join(ROOT, 'test'), { recursive: true, encoding: 'utf8' })
  .map(name => path.posix.join('test', name.replaceAll(path.sep, '/')))
  .filter(name => name.endsWith('.ts') && !name.includes('node_modules'))
  .sort();
const gateFiles = testFiles.filter(name => name.endsWith('.test.ts') && !ELSEWHERE.test(name));

/** A file without its comments, and without its tests that have the tag. The code is formatted: each ends at its indent. */
function atTheGate(file: string): string {
  const lines = read(file)
    .replace(/^\s*\/\*[\s\S]*?\*\/|(?<![:'"`])\/\/ .*$/gm, '')
    .split('\n');
  const kept: string[] = [];
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] ?? '';
    const indent = /^(\s*)it\b/.exec(line)?.[1];
    let end = at;
    if (indent !== undefined && !line.endsWith(';')) {
      const isEnd = new RegExp(`^${indent}[})\\]].*;$`);
      while (end + 1 < lines.length && !isEnd.test(lines[++end] ?? ''));
    }
    const block = lines.slice(at, end + 1);
    if (indent === undefined || !/\btags: 'check'/.test(block.join('\n'))) kept.push(...block);
    at = end;
  }
  return kept.join('\n');
}

/** The files that tests import, at any distance; but for what makes faults, whose options and words some read. */
function helpersOf(files: readonly string[]): string[] {
  const found = new Set<string>();
  const walk = (file: string) => {
    for (const [, name = ''] of atTheGate(file).matchAll(/from '(\.[^']+)\.js'/g)) {
      const helper = `${path.posix.join(path.posix.dirname(file), name)}.ts`;
      const isHelper = helper.startsWith('test/') && !/^test\/(?:chaos|ha)\//.test(helper);
      if (!isHelper || found.has(helper) || !existsSync(path.join(ROOT, helper))) continue;
      found.add(helper);
      walk(helper);
    }
  };
  for (const file of files) walk(file);
  return [...found].sort();
}

const texts = new Map(
  [...gateFiles, ...helpersOf(gateFiles)]
    .filter(file => !RULES.includes(file))
    .map(file => [file, atTheGate(file)] as const),
);
/** The lines in which a pattern is found, but in files that have a reason; and reasons that have become needless. */
function breaches(pattern: RegExp, reasons: Readonly<Record<string, string>> = {}): string[] {
  const found = [...texts].flatMap(([file, text]) =>
    text
      .split('\n')
      .filter(line => pattern.test(line))
      .map(line => ({ file, line: line.trim() })),
  );
  const isExcused = (file: string) => Object.keys(reasons).some(name => file.startsWith(name));
  return [
    ...found.filter(({ file }) => !isExcused(file)).map(({ file, line }) => `${file}: ${line}`),
    ...Object.keys(reasons).filter(name => !found.some(({ file }) => file.startsWith(name))),
  ];
}

describe('what npm test executes', () => {
  it('is found', () => {
    expect(gateFiles.length).toBeGreaterThan(300);
    expect([...texts.values()].join('\n')).not.toContain("tags: 'check'");
    expect(texts.has('test/support/until.ts')).toBe(true);
  });

  it('waits for conditions, and lets no real time pass', () => {
    const reasons = {
      'test/support/until.ts': 'the one loop that waits for a condition',
      'test/support/embedded-database.ts': 'sessions that end, which it looks at again and again',
      'test/support/memory-broker.ts': 'a broker that works in turns',
    };
    expect(
      breaches(
        /(?<!\bclock\.)\bset(?:Timeout|Interval)\(|timers\/promises|pg_sleep|Atomics\.wait\b/,
        reasons,
      ),
    ).toEqual([]);
  });

  it('has the same chance each time', () => {
    const reasons = {
      'test/support/seed.ts': 'for the check',
      'test/support/free-port.ts': 'the same',
    };
    expect(breaches(/\bMath\.random\(/, reasons)).toEqual([]);
    expect(breaches(/from 'fast-check'/, { 'test/support/seed.ts': 'gives it its seed' })).toEqual([]);
  });

  it('has no lease of less than a minute: expireLeases ends one', () => {
    const reasons = {
      'test/model/': 'values that are read, and no leases',
      'test/types.test.ts': 'the same',
      'test/engine/relay/read-answer.test.ts': 'the same',
    };
    expect(breaches(LEASES, reasons)).toEqual([]);
  });

  it('takes no port that was free a moment ago: 0 is one', () => {
    const reasons = { 'test/support/': 'servers that are started in the check only' };
    expect(breaches(/\bfreePorts?\b/, reasons)).toEqual([]);
  });
});

/** In text, or in milliseconds, or by the environment. */
const LEASES =
  /\blease: '(?:\d+ms|[1-5]?\ds)'|\b(?:lease|leaseMs|LEASE_MS)(?::| =) (?:[1-5]?\d_?\d{3}|\d{1,3})\b(?!_)|TOCK_LEASE\b(?!_)|'--lease'/;

describe('tests', () => {
  it('empty tables by the catalogue, not by a list that a new table is missing from', () => {
    const list = /truncate (?:table )?tock\.\w+(?:,\s*tock\.\w+){2}|(?:delete from tock\.\w+;\s*){3}/;
    expect(testFiles.filter(file => !RULES.includes(file) && list.test(read(file)))).toEqual([]);
  });

  /** What is executed as a process or through a job, and so imported by no test. */
  const UNNAMED: Readonly<Record<string, RegExp>> = {
    'src/cli': /openCliHarness|openWarmCli/,
    'src/isolated': /'isolated\.js'/,
    'src/tick.ts': /startProcess\(TICK/,
    'src/engine/webhooks': /changes: \{ webhook/,
  };

  it('are there at the gate for each room of src, and of the engine', () => {
    const rooms = ['src', 'src/engine'].flatMap(folder =>
      readdirSync(path.join(ROOT, folder), { withFileTypes: true })
        .filter(entry => folder === 'src' || entry.isDirectory())
        .map(({ name }) => `${folder}/${name}`),
    );
    expect(rooms.length).toBeGreaterThan(20);
    const tests = [...texts].filter(([file, text]) => gateFiles.includes(file) && /^\s*it\b/m.test(text));
    const without = rooms.filter(room => {
      const name = UNNAMED[room] ?? new RegExp(`'(?:\\.\\./)+${room.replace(/\.ts$/, '')}(?:\\.js'|/)`);
      const mirror = new RegExp(`^test/${room.replace('src/', '')}(?:/|\\.test)`);
      return !tests.some(([file, text]) => mirror.test(file) || name.test(text));
    });
    expect(without).toEqual([]);
  });
});
