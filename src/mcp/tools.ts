// All tools, in the order in which they are listed.
import { includesRole, type Role } from '../model/operator.js';
import type { Tool } from './tool.js';
import { cancel, editPayload, retry, runNow } from './tools/act.js';
import { freeze, setKey, setQueue, thaw } from './tools/administer.js';
import {
  openKey,
  pauseQueue,
  pauseSchedules,
  resumeQueue,
  resumeSchedules,
  skipOccurrence,
} from './tools/hold.js';
import { audit, coming, queues, runs, schedules } from './tools/lists.js';
import { doctor, errors, status } from './tools/look.js';
import { why } from './tools/why.js';

export const TOOLS: readonly Tool[] = [
  status,
  why,
  errors,
  runs,
  schedules,
  coming,
  queues,
  doctor,
  audit,
  runNow,
  retry,
  editPayload,
  cancel,
  pauseSchedules,
  resumeSchedules,
  skipOccurrence,
  pauseQueue,
  resumeQueue,
  openKey,
  freeze,
  thaw,
  setQueue,
  setKey,
];

/** Those that a role may call. */
export const toolsFor = (role: Role): readonly Tool[] => TOOLS.filter(each => includesRole(role, each.role));
