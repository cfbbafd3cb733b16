// Which tests reach which blocks and statements. Kept in node_modules/.cache until a source, a test or what tests share
// is another.
// In: areas. Out: for each place of a source the tests that get there, with how long they take.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { CACHE, createHost } from './hosts.mjs';
import { ROOT, readSource, withSites } from './mutants.mjs';

const FILE = path.join(CACHE, 'coverage.json');

/**
 * @typedef {{ id: string, name: string, file: string, ms: number, reached: ReadonlySet<number> }} Test
 * @returns {Promise<{ testsOf: (mutant: import('./mutants.mjs').Mutant) => Test[], failed: string[] }>}
 */
export async function readCoverage(areas, options, say) {
  const sources = [...new Set(areas.flatMap(area => area.sources))].sort((a, b) => a.localeCompare(b));
  const instrumented = {};
  const sites = [];
  for (const file of sources) {
    const { code, sites: own } = withSites(file, sites.length);
    instrumented[file] = code;
    sites.push(...own.map(site => ({ ...site, file })));
  }
  const known = existsSync(FILE) ? JSON.parse(readFileSync(FILE, 'utf8')) : {};
  const shared = [
    ...Object.values(instrumented),
    ...readdirSync(path.join(ROOT, 'test/support')).map(name => readSource(`test/support/${name}`)),
  ];
  const keyOf = file => hash([...shared, file, readSource(file)]);
  const testFiles = [...new Set(areas.flatMap(area => area.tests))].filter(file =>
    existsSync(path.join(ROOT, file)),
  );
  const host = createHost({ ...options, sources: instrumented, testTimeout: 60_000 });
  const failed = [];
  const next = {};
  for (const [index, file] of testFiles.entries()) {
    const key = keyOf(file);
    next[file] = known[file]?.key === key ? known[file] : null;
    if (next[file] === null) {
      say(`what do the tests reach? ${index + 1}/${testFiles.length} ${file}`);
      const found = await look(host, file, failed);
      next[file] = { key, ...found };
      if (!found.isWhole) continue;
      mkdirSync(CACHE, { recursive: true });
      writeFileSync(FILE, JSON.stringify({ ...known, ...whole(next) }));
    }
  }
  host.close();
  const tests = Object.entries(next).flatMap(([file, { tests: own, reached }]) =>
    own.map(test => ({ ...test, file, reached: new Set([...test.reached, ...reached]) })),
  );
  return { testsOf: mutant => tests.filter(reaches(sites, mutant)), failed };
}

const whole = found => Object.fromEntries(Object.entries(found).filter(([, each]) => each?.isWhole));

/** What fails is tried once more: the machine may be busy. */
async function look(host, testFile, failed) {
  const first = await lookOnce(host, testFile);
  const { failures, ...found } = first.isWhole ? first : await lookOnce(host, testFile);
  failed.push(...failures);
  return found;
}

async function lookOnce(host, testFile) {
  const answer = await host.ask({ files: [{ file: testFile, testIds: null }] }, 600_000);
  if (answer === null) throw new Error(`${testFile} did not end within ten minutes`);
  const [{ tests, errors, meta }] = answer.files;
  const failures = [
    ...tests
      .filter(test => test.state === 'failed')
      .map(test => `${testFile} › ${test.name}: ${test.message}`),
    ...[...errors, ...answer.errors].map(error => `${testFile}: ${error}`),
  ];
  const passed = tests
    .filter(test => test.state === 'passed')
    .map(({ id, name, ms, reached = [] }) => ({ id, name, ms, reached }));
  return { tests: passed, reached: meta.reached ?? [], failures, isWhole: failures.length === 0 };
}

/** Whether a test gets to the innermost place that a mutant lies in; a constant may be of use to any. */
function reaches(sites, { file, start, end }) {
  const [around] = [...sites.entries()]
    .filter(([, site]) => site.file === file && site.start <= start && end <= site.end)
    .sort(([, a], [, b]) => a.end - a.start - (b.end - b.start));
  return test => around === undefined || test.reached.has(around[0]);
}

function hash(texts) {
  const sum = createHash('sha256');
  for (const text of texts) sum.update(text).update('\0');
  return sum.digest('hex').slice(0, 16);
}
