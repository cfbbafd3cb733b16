// Schedules as lists and pages show them; one statement each.
export {
  type NamedPause,
  readNamed,
  readPausedAlone,
  readSharedPauses,
  type SharedPause,
} from '../../store/definitions/paused-together.js';
export {
  DEFINITION_STATES,
  type DefinitionState,
  type ScheduleMatch,
} from '../../store/definitions/schedule-match.js';
export {
  type ListedDefinition,
  pageAfter,
  readDefinitionNames,
  readDefinitionPage,
  readFollowers,
  readNextAt,
} from '../../store/reads/definition-pages.js';
export type { DefinitionRecord } from '../../store/reads/runs.js';
export { readWhyDefinition, type WhyDefinition } from '../../store/reads/why/why.js';
