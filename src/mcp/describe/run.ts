// Everything that explains a run, in lines: what happens with it and why, its errors, who has acted on it,
// and what the schedule says of its occurrence.
import { auditSentence } from '../../answers/audit-words.js';
import { readClock } from '../../answers/reads.js';
import { pendingText, readPendingRun } from '../../answers/runs/lists.js';
import { type ReadRun, readRun } from '../../answers/runs/read-run.js';
import { TockError } from '../../model/errors.js';
import { isRunId } from '../../model/flow/check-flow.js';
import { quote } from '../../model/names.js';
import { errorOnOneLine } from '../../model/run/errors/root-cause.js';
import { groupSentence } from '../../model/run/group-record.js';
import type { AttemptLog } from '../../model/run/log/attempt-log.js';
import type { RunRecord } from '../../model/run/run-record.js';
import { isNever } from '../../model/run/run-wait.js';
import { STATUS_MEANINGS } from '../../model/run/states.js';
import { utcText } from '../../model/schedule/instant-text.js';
import { documentLines } from '../fence.js';
import type { Agent } from '../tool.js';

const MAX_ERRORS = 5;
const MAX_ACTS = 5;
const MAX_LOG_LINES = 40;
const MAX_DOCUMENT = 4000;

/** @throws TockError TOCK_NOT_FOUND, TOCK_BAD_OPTION */
export async function describeRun(agent: Agent, id: string): Promise<string[]> {
  const { reads, operator } = agent;
  if (!isRunId(id))
    throw new TockError('TOCK_BAD_OPTION', `run ${quote(id)} is not the id of a run: a number`);
  const now = await readClock(reads);
  const found = await readRun(reads, id, { now, seesPayloads: operator.seesPayloads });
  if (found === null) return [await missing(agent, id)];
  const { run } = found;
  return [
    `run ${run.id} of ${nameOf(run)}: ${run.status} (${STATUS_MEANINGS[run.status]})`,
    [found.now.sentence, found.now.remedy].filter(Boolean).join(' '),
    ...facts(found),
    ...(await actsOn(agent, id)),
    ...(await scheduleSays(agent, run)),
    ...errorLines(run),
    ...documentsOf(found),
  ];
}

/** A run that is no run yet, because it replaces one that is running. @throws TockError TOCK_NOT_FOUND */
async function missing({ reads }: Agent, id: string): Promise<string> {
  const pending = await readPendingRun(reads, id);
  if (pending !== null) return `${pendingText(pending)}: it was enqueued to replace that one`;
  throw new TockError('TOCK_NOT_FOUND', `there is no run ${id}; it may have been pruned`);
}

/** The definition's name, and the job's where it differs. */
export const nameOf = ({ job, definition }: Pick<RunRecord, 'job' | 'definition'>): string =>
  definition === null || definition === job ? job : `${definition} (job ${job})`;

function facts({ run, holders, redirects, origin, group, exception, joins }: ReadRun): string[] {
  const at = (what: string, date: Date | null) => (date === null ? '' : `${what} ${utcText(date)}`);
  const times = [
    at('created', run.createdAt),
    isNever(run.runAt) ? '' : at('due', run.runAt),
    at('started', run.startedAt),
    at('finished', run.finishedAt),
    at('scheduled for', run.scheduledFor),
    run.status === 'running' ? at('leased until', run.lockedUntil) : '',
  ];
  const marks = [
    `queue ${run.queue}`,
    `priority ${run.priority}`,
    `attempt ${run.attempts} of ${run.maxAttempts}`,
    `trigger ${run.trigger}`,
    run.worker === null ? '' : `worker ${run.worker}`,
    run.deploy === null ? '' : `deploy ${run.deploy}`,
    run.idempotencyKey === null ? '' : `key ${run.idempotencyKey}`,
    run.tags === null ? '' : `tags ${run.tags.join(', ')}`,
    run.releases === 0 ? '' : `given back ${run.releases} times by a worker that was stopping or crashed`,
  ];
  const runs = (list: ReadRun['holders']) =>
    list.map(each => `run ${each.id} of ${nameOf(each)} (${each.status})`).join(', ');
  return [
    marks.filter(Boolean).join('; '),
    times.filter(Boolean).join('; '),
    holders.length === 0 ? '' : `what it waits for is held by ${runs(holders)}`,
    exception === null ? '' : `its occurrence was ${exception}`,
    group === null ? '' : `its group: ${groupSentence(group.group)}`,
    joins.length === 0 ? '' : `it is a member of the group of ${runs(joins)}`,
    origin === null ? '' : `it was enqueued because ${runs([origin])} died`,
    redirects.length === 0 ? '' : `because it died, these were enqueued: ${runs(redirects)}`,
  ].filter(Boolean);
}

/** Who retried or cancelled it. */
async function actsOn({ tock }: Agent, id: string): Promise<string[]> {
  const records = await tock.audit.list({ target: id, limit: MAX_ACTS });
  return records.map(
    record => `at ${utcText(record.at)} ${record.operator} (via ${record.via}) ${auditSentence(record)}`,
  );
}

async function scheduleSays({ tock }: Agent, { definition, scheduledFor, trigger }: RunRecord) {
  if (definition === null || scheduledFor === null || trigger === 'exec') return [];
  try {
    const why = await tock.why(definition, scheduledFor);
    return why.sentences.map(sentence => `schedule of ${definition}: ${sentence}`);
  } catch (error) {
    // Its definition may be gone, or a run's time none of it any more.
    if (error instanceof TockError) return [`schedule of ${definition}: ${error.message}`];
    throw error;
  }
}

function errorLines({ errors }: RunRecord): string[] {
  const last = errors.slice(-MAX_ERRORS);
  return [
    ...(last.length < errors.length ? [`the last ${last.length} of ${errors.length} errors:`] : []),
    ...last.map(error => {
      const code = typeof error.code === 'string' ? ` [${error.code}]` : '';
      return `error of attempt ${error.attempt} at ${error.at}${code}: ${errorOnOneLine(error)}`;
    }),
  ];
}

function documentsOf({ run, documents, logs }: ReadRun): string[] {
  if (documents === null) return ['payload, output and log are not shown (tock mcp --payloads shows them)'];
  const shown = (title: string, document: { readonly text: string } | null) =>
    document === null ? [] : documentLines(title, document.text, MAX_DOCUMENT);
  return [
    ...shown('payload', documents.payload),
    ...shown('output', run.status === 'succeeded' ? documents.output : null),
    ...logLines(logs ?? []),
  ];
}

function logLines(logs: readonly AttemptLog[]): string[] {
  const lines = logs.flatMap(({ attempt, lines }) => lines.map(line => ({ attempt, ...line })));
  const last = lines.slice(-MAX_LOG_LINES);
  if (last.length === 0) return [];
  return [
    last.length === lines.length ? 'log:' : `log, the last ${last.length} of ${lines.length} lines:`,
    ...last.map(({ attempt, at, level, text }) => `attempt ${attempt} ${at.toISOString()} ${level}: ${text}`),
  ];
}
