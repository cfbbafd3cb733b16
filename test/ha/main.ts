// The command `npm run test:ha`, by scripts/ha.mjs.
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { CLI } from '../support/processes.js';
import { missingPackages } from './cluster.js';
import { experiment, type HaResult } from './experiment.js';
import { type HaOptions, HELP, readOptions, UsageError } from './options.js';
import { drawReport, failuresOf } from './report.js';

/** Whether dist/ must be built for these arguments. */
export function needsBuild(argv: readonly string[]): boolean {
  try {
    const { help, dist } = readOptions(argv);
    return !help && dist === null && missingPackages().length === 0;
  } catch {
    return false;
  }
}

export async function main(argv: readonly string[]): Promise<number> {
  let options: HaOptions;
  try {
    options = readOptions(argv);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    process.stderr.write(`test:ha: ${error.message} (see --help)\n`);
    return 2;
  }
  if (options.help) {
    process.stdout.write(`${HELP}\n`);
    return 0;
  }
  const missing = missingPackages();
  if (missing.length > 0) {
    process.stdout.write(
      `test:ha: SKIPPED, nothing was tested: install ${missing.join(', ')} (Debian 12) first\n`,
    );
    return 0;
  }
  return await carryOut(options);
}

async function carryOut({ events, synchronous, seed, dist, json }: HaOptions): Promise<number> {
  const stop = new AbortController();
  const onSignal = () => stop.abort(new Error('stopped'));
  process.on('SIGINT', onSignal).on('SIGTERM', onSignal);
  const startedAt = performance.now();
  const say = (line: string) => {
    const seconds = String(Math.round((performance.now() - startedAt) / 1000)).padStart(4);
    process.stderr.write(`${seconds} s  ${line}\n`);
  };
  const results: HaResult[] = [];
  try {
    for (const isSynchronous of synchronous) {
      say(`synchronous_mode ${isSynchronous ? 'on' : 'off'}: ${events.join(', ')}`);
      const result = await experiment({
        events,
        isSynchronous,
        seed,
        dist: dist ?? path.dirname(CLI),
        signal: stop.signal,
        say,
      });
      process.stdout.write(`\n${drawReport(result)}\n\n`);
      results.push(result);
    }
  } catch (error) {
    if (stop.signal.aborted) return 130;
    process.stderr.write(
      `test:ha: the experiment could not be carried out: ${error instanceof Error ? error.stack : String(error)}\n`,
    );
    return 1;
  } finally {
    process.off('SIGINT', onSignal).off('SIGTERM', onSignal);
  }
  if (json !== null) await writeFile(json, `${JSON.stringify(results, null, 2)}\n`);
  return results.every(result => failuresOf(result).length === 0) ? 0 : 1;
}
