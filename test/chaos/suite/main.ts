// The command: `npm run chaos`, by scripts/chaos.mjs.
// In: the arguments. Out: figures on standard output; an exit code: 0 all holds, 1 something is wrong, 2 usage, 130 after
// Ctrl-C.
import { writeFile } from 'node:fs/promises';
import { experiment } from './experiment.js';
import { HELP, readOptions, type SuiteOptions, UsageError } from './options.js';
import { makePlan } from './plan.js';
import { openProgress } from './progress.js';
import { asData, drawPlan, drawReport, planLine } from './report.js';

/** Runs the command. */
export async function main(argv: readonly string[]): Promise<number> {
  let options: SuiteOptions;
  try {
    options = readOptions(argv);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    process.stderr.write(`chaos: ${error.message} (see --help)\n`);
    return 2;
  }
  if (options.help) {
    process.stdout.write(`${HELP}\n`);
    return 0;
  }
  const plan = makePlan(options);
  if (options.planOnly) {
    process.stdout.write(`${drawPlan(options, plan)}\n`);
    return 0;
  }
  process.stdout.write(`${planLine(options, plan)}\n`);
  return await carryOut(options, plan);
}

/** Whether dist/ must be built for these arguments. */
export function needsBuild(argv: readonly string[]): boolean {
  try {
    const { help, planOnly, dist } = readOptions(argv);
    return !help && !planOnly && dist === null;
  } catch {
    return false;
  }
}

async function carryOut(options: SuiteOptions, plan: ReturnType<typeof makePlan>): Promise<number> {
  const stop = new AbortController();
  const onSignal = () => {
    process.stderr.write('\nstopping: the processes are ended and the folder is removed\n');
    stop.abort(new Error('stopped'));
  };
  process.once('SIGINT', onSignal).once('SIGTERM', onSignal);
  // A second one does not leave anything behind either.
  process.on('SIGINT', () => undefined).on('SIGTERM', () => undefined);
  const startedAt = performance.now();
  const progress = openProgress({
    runs: options.runs,
    faults: plan.faults.length,
    durationMs: plan.durationMs,
  });
  try {
    const result = await experiment(options, plan, stop.signal, progress.show);
    progress.end();
    const elapsedMs = performance.now() - startedAt;
    process.stdout.write(`\n${drawReport(plan, result, elapsedMs)}\n`);
    if (options.json !== null)
      await writeFile(options.json, `${JSON.stringify(asData(options, plan, result, elapsedMs), null, 2)}\n`);
    return result.wrong.length === 0 ? 0 : 1;
  } catch (error) {
    progress.end();
    if (stop.signal.aborted) return 130;
    process.stderr.write(
      `chaos: the experiment could not be carried out: ${error instanceof Error ? error.stack : String(error)}\n`,
    );
    return 1;
  }
}
