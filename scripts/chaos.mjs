// The reliability suite as one command: `npm run chaos -- --help`. What it does is in test/chaos/suite/.
import { runExperiment } from './support/experiment.mjs';

await runExperiment('test/chaos/suite/main.ts');
