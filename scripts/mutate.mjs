// Mutants: small faults are built into the sources one at a time, and the tests of the area must find each of them.
// In: flags, see --help. Out: survivors, and a score per area; 1 where an area is below the threshold.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { AREAS, rooms } from './mutate/areas.mjs';
import { createCompiler } from './mutate/compiler.mjs';
import { readCoverage } from './mutate/coverage.mjs';
import { readEquivalents, staleEntries, whyEquivalent } from './mutate/equivalent.mjs';
import { CACHE, createHost, startServer } from './mutate/hosts.mjs';
import { createJudge } from './mutate/judge.mjs';
import { mutantsOfFile, ROOT } from './mutate/mutants.mjs';
import { createProgress, equivalentLines, score, scoreTable, survivorLines } from './mutate/report.mjs';

const HELP = `npm run mutate -- [flags]

Builds small faults into the sources, one at a time, and runs the tests of their area until one fails.

  --area NAME         only this area, several times: ${AREAS.map(area => area.name).join(', ')}
  --all               the rest of src/model, src/store and src/engine too
  --files PATTERN     only sources whose path holds this text, several times
  --tests PATTERN     only test files whose path holds this text, several times: quicker, and finds less
  --only ID           only this mutant, several times
  --sample N          only N mutants, the same ones for the same seed
  --seed S            for --sample (default 1)
  --no-coverage       run all tests of an area, without a look at which of them get to a mutant: quicker for a few
  --threshold P       exit 1 where an area's score is below P percent (default 90)
  --workers N         how many at once (default 2)
  --timeout MS        of one test (default 30000)
  --json FILE         writes all verdicts there
  --list              names the mutants, and runs nothing
  --verbose           also prints who killed each, and the equivalent ones with the reason
  --help

TOCK_TEST_DATABASE_URL makes it use a server that runs already. Equivalent mutants: scripts/mutate/equivalent.json.`;

const FLAGS = {
  area: { type: 'string', multiple: true },
  all: { type: 'boolean', default: false },
  files: { type: 'string', multiple: true },
  tests: { type: 'string', multiple: true },
  only: { type: 'string', multiple: true },
  sample: { type: 'string' },
  seed: { type: 'string', default: '1' },
  'no-coverage': { type: 'boolean', default: false },
  threshold: { type: 'string', default: '90' },
  workers: { type: 'string', default: '2' },
  timeout: { type: 'string', default: '30000' },
  json: { type: 'string' },
  list: { type: 'boolean', default: false },
  verbose: { type: 'boolean', default: false },
  help: { type: 'boolean', default: false },
};

/** A mistake in the arguments. */
class UsageError extends Error {}

function readFlags() {
  try {
    return parseArgs({ options: FLAGS }).values;
  } catch (error) {
    throw new UsageError(error.message);
  }
}

function count(flags, name, most) {
  const value = Number(flags[name]);
  if (Number.isInteger(value) && value >= 1 && value <= most) return value;
  throw new UsageError(`--${name} ${flags[name]} is not a whole number from 1 to ${most}`);
}

/** The areas asked for, each with its mutants. */
function chosen(flags) {
  const all = flags.all ? [...AREAS, ...rooms()] : AREAS;
  const unknown = flags.area?.find(name => !all.some(area => area.name === name));
  if (unknown !== undefined)
    throw new UsageError(`--area ${unknown} is none of ${all.map(area => area.name).join(', ')}`);
  const areas = all
    .filter(area => flags.area?.includes(area.name) ?? true)
    .map(area => ({
      ...area,
      tests: area.tests.filter(
        file => existsSync(path.join(ROOT, file)) && (flags.tests?.some(part => file.includes(part)) ?? true),
      ),
      mutants: area.sources.flatMap(mutantsOfFile),
    }));
  const isAsked = ({ file, id }) =>
    (flags.files?.some(part => file.includes(part)) ?? true) && (flags.only?.includes(id) ?? true);
  return areas.map(area => ({ ...area, mutants: area.mutants.filter(isAsked) }));
}

/**
 * The mutants whose hashes with the seed are the smallest, in that order: an edit elsewhere changes no more than itself,
 * and what has been judged of a sample that is cut short is a smaller sample.
 */
function sampled(areas, entries, size, seed) {
  const rank = ({ id }) => createHash('sha256').update(`${seed} ${id}`).digest('hex');
  const ranked = areas
    .flatMap(area => area.mutants)
    .filter(mutant => whyEquivalent(entries, mutant) === null)
    .map(mutant => ({ mutant, rank: rank(mutant) }))
    .sort((a, b) => (a.rank < b.rank ? -1 : 1));
  const taken = ranked.slice(0, size).map(each => each.mutant);
  return areas.map(area => ({ ...area, mutants: taken.filter(mutant => area.mutants.includes(mutant)) }));
}

async function main(flags) {
  const threshold = Number(flags.threshold);
  const workers = count(flags, 'workers', 64);
  const testTimeout = count(flags, 'timeout', 600_000);
  const entries = readEquivalents();
  const whole = chosen(flags);
  const areas = flags.sample ? sampled(whole, entries, count(flags, 'sample', 1e6), flags.seed) : whole;
  const mutants = areas.flatMap(area => area.mutants);
  if (flags.list) {
    for (const { id, file, line, change, operator } of mutants)
      console.log(`${id}  ${file}:${line}  ${operator}: ${change}`);
    return 0;
  }
  const progress = createProgress();
  const server = await startServer();
  const compiler = createCompiler();
  const hosts = [];
  const leave = async () => {
    for (const host of hosts) host.close();
    compiler.close();
    await server.stop();
    process.exit(130);
  };
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => void leave());
  try {
    const options = { provided: server.provided, testTimeout };
    const coverage = flags['no-coverage'] ? null : await readCoverage(areas, options, progress.say);
    for (const line of coverage?.failed ?? [])
      console.error(`fails without a mutant, and is left out: ${line}`);
    mkdirSync(CACHE, { recursive: true });
    const killersFile = path.join(CACHE, 'killers.json');
    const killers = existsSync(killersFile) ? JSON.parse(readFileSync(killersFile, 'utf8')) : {};
    const judge = createJudge({ testsOf: coverage?.testsOf ?? null, killers });
    const verdictOn = async (mutant, host, area) => {
      const why = flags.only ? null : whyEquivalent(entries, mutant);
      if (why !== null) return { status: 'equivalent', by: why };
      const verdict = await judge(mutant, host, area);
      if (verdict.by !== null || verdict.status === 'timed out' || mutant.isSql) return verdict;
      const error = await compiler.errorOf(mutant);
      return error === null ? verdict : { status: 'refused', by: error };
    };
    const verdicts = new Map();
    const queue = areas.flatMap(area => area.mutants.map(mutant => ({ area, mutant })));
    let done = 0;
    const work = async () => {
      const host = createHost(options);
      hosts.push(host);
      for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
        const { area, mutant } = next;
        verdicts.set(mutant, await verdictOn(mutant, host, area));
        const { found } = score([...verdicts.values()]);
        progress.step(++done, mutants.length, found, `${mutant.file}:${mutant.line}`);
        writeFileSync(killersFile, JSON.stringify(killers));
        if (flags.json) writeJson(flags.json, judgedOf(areas, verdicts));
      }
    };
    await Promise.all(Array.from({ length: workers }, work));
    progress.clear();
    return report(areas, verdicts, {
      flags,
      threshold,
      stale: staleEntries(
        entries,
        whole.flatMap(area => area.mutants),
      ),
    });
  } finally {
    for (const host of hosts) host.close();
    compiler.close();
    await server.stop();
  }
}

function report(areas, verdicts, { flags, threshold, stale }) {
  const judged = judgedOf(areas, verdicts);
  const all = judged.flatMap(area => area.verdicts);
  if (flags.verbose) {
    for (const line of equivalentLines(all)) console.log(line);
    for (const { mutant, status, by } of all.filter(
      each => !['equivalent', 'survived'].includes(each.status),
    ))
      console.log(`${mutant.file}:${mutant.line}  ${mutant.change}\n    ${status}: ${by}`);
  }
  for (const line of survivorLines(all)) console.log(line);
  console.log(scoreTable([...judged, { name: 'all', verdicts: all }]));
  if (flags.json) writeJson(flags.json, judged);
  // Of a part of the mutants nobody can say what fits none.
  if (!flags.files && !flags.only)
    for (const entry of stale)
      console.log(`equivalent.json has an entry that fits no mutant: ${JSON.stringify(entry)}`);
  const below = judged.filter(area => score(area.verdicts).percent < threshold);
  if (below.length > 0) console.log(`below ${threshold}%: ${below.map(area => area.name).join(', ')}`);
  return below.length > 0 ? 1 : 0;
}

/** The areas with what has been judged of them. */
function judgedOf(areas, verdicts) {
  return areas.map(({ name, mutants }) => ({
    name,
    verdicts: mutants.filter(each => verdicts.has(each)).map(mutant => ({ mutant, ...verdicts.get(mutant) })),
  }));
}

function writeJson(file, judged) {
  const whole = {
    node: process.version,
    score: score(judged.flatMap(area => area.verdicts)),
    areas: judged.map(({ name, verdicts }) => ({
      name,
      ...score(verdicts),
      mutants: verdicts.map(
        ({ mutant: { code: _code, start: _start, end: _end, ...mutant }, status, by }) => ({
          ...mutant,
          status,
          by,
        }),
      ),
    })),
  };
  writeFileSync(file, `${JSON.stringify(whole, null, 2)}\n`);
}

try {
  const flags = readFlags();
  if (flags.help) console.log(HELP);
  else process.exitCode = await main(flags);
} catch (error) {
  if (!(error instanceof UsageError)) throw error;
  console.error(`${error.message}\n\n${HELP}`);
  process.exitCode = 2;
}
