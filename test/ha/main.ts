// The command `npm run test:ha`, by scripts/ha.mjs.
import path from 'node:path';
import type { Command } from '../chaos/suite/command.js';
import { CLI } from '../support/processes.js';
import { missingPackages } from './cluster.js';
import { experiment } from './experiment.js';
import { type HaOptions, HELP, readOptions } from './options.js';
import { drawReport, failuresOf } from './report.js';

export { runCommand } from '../chaos/suite/command.js';

export const command: Command<HaOptions> = {
  name: 'test:ha',
  help: HELP,
  read: readOptions,
  instead() {
    const missing = missingPackages().join(', ');
    return missing === ''
      ? null
      : `test:ha: SKIPPED, nothing was tested: install ${missing} (Debian 12) first`;
  },
  async carryOut({ events, synchronous, seed, dist }, signal, say) {
    let isWell = true;
    for (const isSynchronous of synchronous) {
      say(`synchronous_mode ${isSynchronous ? 'on' : 'off'}: ${events.join(', ')}`);
      const setting = { events, isSynchronous, seed, dist: dist ?? path.dirname(CLI), signal, say };
      const result = await experiment(setting);
      process.stdout.write(`\n${drawReport(result)}\n\n`);
      isWell &&= failuresOf(result).length === 0;
    }
    return isWell;
  },
};
