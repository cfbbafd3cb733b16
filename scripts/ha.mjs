// Fail-over with Patroni as one command: `npm run test:ha -- --help`. What it does is in test/ha/.
import { runExperiment } from './support/experiment.mjs';

await runExperiment('test/ha/main.ts');
