// Runs as lists and pages show them; one statement each.
export type { ListedRun } from '../../store/reads/runs/first-runs.js';
export { readJobNames, readNamed } from '../../store/reads/runs/job-names.js';
export {
  type Document,
  type RunEffect,
  type RunReference,
  readPayloadText,
} from '../../store/reads/runs/run-detail.js';
export {
  countRuns,
  isCountSlow,
  listRunPage,
  type PageBounds,
  type RunPage,
} from '../../store/reads/runs/run-list.js';
export { pendingText, readPendingRun } from '../../store/reads/runs/successors.js';
export { getRun, listRuns } from '../../store/reads/runs.js';
