// The command: `npm run chaos`, by scripts/chaos.mjs.
import type { Command } from './command.js';
import { experiment } from './experiment.js';
import { HELP, readOptions, type SuiteOptions } from './options.js';
import { makePlan } from './plan.js';
import { drawPlan, drawReport, planLine } from './report.js';

export { runCommand } from './command.js';

export const command: Command<SuiteOptions> = {
  name: 'chaos',
  help: HELP,
  read: readOptions,
  instead: options => (options.plan ? drawPlan(options, makePlan(options)) : null),
  async carryOut(options, signal, say) {
    const startedAt = performance.now();
    const plan = makePlan(options);
    process.stdout.write(`${planLine(options, plan)}\n`);
    const result = await experiment(options, plan, signal, say);
    process.stdout.write(`\n${drawReport(plan, result, performance.now() - startedAt)}\n`);
    return result.wrong.length === 0;
  },
};
