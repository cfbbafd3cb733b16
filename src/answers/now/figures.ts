// What stands on the first page: the figures of now, and what comes.
export { type Outcomes, readOutcomes } from '../../store/reads/metrics/rollup.js';
export {
  type ComingDefinition,
  readComing,
  readTroubled,
  type TimedDefinition,
  type TroubledDefinition,
} from '../../store/reads/now/coming.js';
export { type Frame, readFrame } from '../../store/reads/now/frame.js';
export {
  type LiveFigures,
  MAX_COUNT,
  type RunningRun,
  readLiveFigures,
} from '../../store/reads/now/live-figures.js';
export { type Pulse, readPulse } from '../../store/reads/now/pulse.js';
