// Tock beside graphile-worker and pg-boss: throughput, latency, memory and what idling costs. See README.md.
// In: flags. Out: tables, bench/results/<measure>.json and .svg.
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { CONTESTANTS } from './contestants/index.mjs';
import { chart } from './lib/chart.mjs';
import { Interruption, withServer } from './lib/database.mjs';
import { host } from './lib/host.mjs';
import { useNode } from './lib/node.mjs';
import { PROFILED, profile } from './lib/profile.mjs';
import { createVoice, resultTable } from './lib/report.mjs';
import { MEASURES } from './measures/index.mjs';

const folder = path.dirname(fileURLToPath(import.meta.url));

const FLAGS = {
  only: { type: 'string', multiple: true },
  who: { type: 'string', multiple: true },
  rounds: { type: 'string' },
  runs: { type: 'string' },
  concurrency: { type: 'string', multiple: true },
  base: { type: 'string' },
  seconds: { type: 'string' },
  minutes: { type: 'string' },
  full: { type: 'boolean', default: false },
  node: { type: 'string', default: '24' },
  profile: { type: 'boolean', default: false },
  dry: { type: 'boolean', default: false },
  json: { type: 'boolean', default: false },
  help: { type: 'boolean', default: false },
};
const flags = readFlags();

function readFlags() {
  try {
    return parseArgs({ options: FLAGS }).values;
  } catch (error) {
    console.error(`${error.message.split('\n')[0].replace(/\.?$/, '.')} --help lists all flags.`);
    process.exit(2);
  }
}

function usage() {
  const all = Object.entries(FLAGS).map(([name, { type }]) =>
    type === 'string' ? `[--${name} <${name}>]` : `[--${name}]`,
  );
  const measures = MEASURES.map(
    ({ name, title, isLong }) => `  ${name.padEnd(12)} ${title}${isLong ? ' (only when named)' : ''}`,
  );
  return `npm run bench -- ${all.join(' ')}\nMeasures, for --only:\n${measures.join('\n')}\nSee README.md.`;
}

async function main() {
  const only = flags.only ?? MEASURES.filter(each => !each.isLong).map(each => each.name);
  const unknown = only.find(name => !MEASURES.some(each => each.name === name));
  if (unknown !== undefined)
    throw new Error(`--only ${unknown} is none of ${MEASURES.map(each => each.name).join(', ')}`);
  const nobody = flags.who?.find(who => !CONTESTANTS.includes(who));
  if (nobody !== undefined) throw new Error(`--who ${nobody} is none of ${CONTESTANTS.join(', ')}`);
  const say = createVoice(flags.json);
  const given = {
    full: flags.full,
    ...(flags.who ? { only: flags.who } : {}),
    ...(flags.base ? { base: flags.base } : {}),
    ...(flags.rounds ? { rounds: readCount('rounds', flags.rounds) } : {}),
    ...(flags.runs ? { runs: readCount('runs', flags.runs) } : {}),
    ...(flags.seconds ? { seconds: readCount('seconds', flags.seconds) } : {}),
    ...(flags.minutes ? { minutes: readMinutes(flags.minutes) } : {}),
    ...(flags.concurrency
      ? { concurrency: flags.concurrency.map(each => readCount('concurrency', each)) }
      : {}),
  };
  const report = [];
  const chosen = MEASURES.filter(each => only.includes(each.name));
  const settings = Object.assign({}, ...chosen.map(each => each.settings), flags.profile ? PROFILED : {});
  await withServer({ settings }, async url => {
    const where = await host(url);
    say.line(
      `node ${where.node}, PostgreSQL ${where.postgres}, ${where.cores} cores (${where.cpu}), ${where.memory}, commit ${where.commit}, load ${where.load}`,
    );
    const prof = flags.profile ? await profile(url, say) : null;
    for (const measure of chosen) {
      say.title(measure.title);
      const options = { ...measure.defaults, ...given };
      const began = performance.now();
      const result = await measure.run({
        ...options,
        url,
        say,
        ...(prof ? { nodeFlags: prof.nodeFlags } : {}),
      });
      const { name, title, unit, better, digits, hasChart = true } = measure;
      // One that is no list of contestants brings its own.
      const { table, ...rest } = result;
      const whole = {
        name,
        title,
        unit,
        better,
        ...(digits === undefined ? {} : { digits }),
        ...rest,
        options: { ...options, full: flags.full },
        at: new Date().toISOString(),
        tookSeconds: Math.round((performance.now() - began) / 1000),
        host: where,
      };
      say.line(table === undefined ? resultTable(whole) : `\n${table}`);
      report.push(whole);
      // What a measure finds wrong, beyond figures.
      if (whole.failure) {
        say.line(`\n${whole.failure}`);
        process.exitCode = 1;
      }
      if (!flags.dry) await keep(whole, hasChart);
    }
    await prof?.report();
  });
  if (flags.json) console.log(JSON.stringify(report, null, 2));
}

async function keep(result, hasChart) {
  const results = path.join(folder, 'results');
  await mkdir(results, { recursive: true });
  await writeFile(path.join(results, `${result.name}.json`), `${JSON.stringify(result, null, 2)}\n`);
  if (hasChart) await writeFile(path.join(results, `${result.name}.svg`), chart(result));
}

function readMinutes(text) {
  const minutes = Number(text);
  if (minutes >= 0.1 && minutes <= 10_000) return minutes;
  throw new Error(`--minutes ${text} is not a number from 0.1 to 10000`);
}

function readCount(name, text) {
  const count = Number(text);
  if (Number.isInteger(count) && count >= 1 && count <= 20_000_000) return count;
  throw new Error(`--${name} ${text} is not a whole number from 1 to 20000000`);
}

try {
  if (flags.help) console.log(usage());
  else if (!useNode(flags.node)) await main();
} catch (error) {
  if (error instanceof Interruption) {
    console.error('interrupted');
    // What was under way waits for what is gone.
    process.exit(130);
  }
  // A flag's value that makes no sense names the flag.
  if (!/^--\w+ /.test(error.message)) throw error;
  console.error(error.message);
  process.exitCode = 2;
}
