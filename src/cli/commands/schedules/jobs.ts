// `tock jobs`: the jobs in code and the definitions in the database, side by side.

import type { Command } from 'commander';
import type { DefinitionRecord } from '../../../answers/schedules/lists.js';
import { URL_JOB } from '../../../model/http/stored-request.js';
import type { AnyJob } from '../../../model/job/job.js';
import { withQueue } from '../../../model/job/registry.js';
import {
  chainOfJob,
  definitionWords,
  jobWords,
  scheduleOfRecord,
} from '../../../model/planning/schedule-words.js';
import { newerSource, staleWords } from '../../../runtime/job-module-age.js';
import type { Tock } from '../../../tock/types.js';
import { count, examples, withJson } from '../../flags/flags.js';
import { action, type CommonOptions, type Shell, withTock } from '../../shell.js';
import { cleanLine, paint, STATUS_COLOURS } from '../../terminal.js';
import { requireService } from '../../unknown-names.js';
import { flagsOf, type Listed } from '../../views/listed.js';
import { type Cell, drawTable } from '../../views/table.js';
import { localTime, relative } from '../../views/time-text.js';

interface JobsFlags extends CommonOptions {
  readonly limit: number;
  readonly service?: string;
}

export function addJobs(program: Command): Command {
  return withJson(program.command('jobs'))
    .summary('the jobs in code and the definitions in the database')
    .description(
      'Lists the jobs in code and the definitions in the database, with their schedules, when each runs next, and anything unusual about them.',
    )
    .option('--limit <n>', 'at most this many definitions', count(1, 1_000_000), 1000)
    .option('--service <name>', 'only those of this service')
    .addHelpText(
      'after',
      examples(['tock jobs', 'what is defined'], ["tock jobs --json | jq '.jobs[].name'", 'for scripts']),
    )
    .action(action(jobs));
}

async function jobs(shell: Shell, { limit, service }: JobsFlags): Promise<number> {
  return await withTock(shell, {}, async ({ tock, jobs }) => {
    const records = await tock.schedules.list({ limit, ...(service === undefined ? {} : { service }) });
    const isCut = records.length === limit;
    const all = await listSideBySide(tock, jobs, records, { isCut, service: shell.config.service });
    // What is not registered yet is of this process’s own.
    const rows = all.filter(
      ({ record }) => service === undefined || (record?.service ?? shell.config.service) === service,
    );
    if (rows.length === 0 && service !== undefined) await requireService(shell, tock, service);
    const module = jobs.length === 0 ? null : shell.config.jobsModule;
    const source = newerSource(module);
    shell.document({ jobs: rows.map(documentOf), module, newerSource: source });
    if (shell.json) return 0;
    if (rows.length === 0 && service !== undefined)
      shell.say(`no jobs are defined of the service ${cleanLine(service)}`);
    else if (rows.length === 0) shell.say('no jobs are defined, neither in code nor in the database');
    else shell.say(await tableOf(rows));
    if (module !== null && source !== null) shell.say(paint('yellow', staleWords(module, source)));
    else if (module !== null) shell.say(paint('dim', `the jobs in code come from ${module}`));
    if (isCut) shell.say(paint('dim', `only the ${limit} definitions that are due next; --limit shows more`));
    return 0;
  });
}

async function listSideBySide(
  tock: Tock,
  inModule: readonly AnyJob[],
  records: readonly DefinitionRecord[],
  { isCut, service }: { readonly isCut: boolean; readonly service: string },
): Promise<Listed[]> {
  const jobs = inModule.map(job => withQueue(job, service));
  const inCode = new Map(jobs.map(job => [job.name, job]));
  const known = new Set([URL_JOB, ...jobs.flatMap(job => [job.name, ...(job.aliases ?? [])])]);
  const listed: Listed[] = records.map(record => ({
    name: record.name,
    record,
    job: inCode.get(record.name) ?? null,
    hasHandler: known.has(record.job),
    isElsewhere: record.origin === 'code' && record.service !== service,
  }));
  const names = new Set(records.map(({ name }) => name));
  for (const job of jobs) {
    if (names.has(job.name)) continue;
    // It may be registered, but beyond the limit.
    const [record] = isCut ? await tock.schedules.list({ name: job.name }) : [];
    listed.push({ name: job.name, record: record ?? null, job, hasHandler: true, isElsewhere: false });
  }
  return listed;
}

const COLUMNS = [
  { title: 'name', flexible: true },
  { title: 'schedule', flexible: true },
  { title: 'next' },
  { title: '' },
  { title: 'last run' },
  { title: 'queue', flexible: true },
  { title: 'notes', flexible: true },
];

/** The service is shown where there are two. */
async function tableOf(rows: readonly Listed[]): Promise<string> {
  const services = rows.map(({ record }) => record?.service ?? '');
  if (new Set(services.filter(name => name !== '')).size + Number(services.includes('')) < 2)
    return await drawTable(COLUMNS, rows.map(row));
  const withService = <Item>(items: readonly Item[], item: Item) => items.toSpliced(-1, 0, item);
  return await drawTable(
    withService<(typeof COLUMNS)[number]>(COLUMNS, { title: 'service', flexible: true }),
    rows.map((listed, index) => withService<Cell>(row(listed), services[index] ?? '')),
  );
}

function row(listed: Listed): Cell[] {
  const { name, record, job } = listed;
  const schedule = record ? definitionWords(record) : job ? jobWords(job) : '';
  const handler = record?.job ?? name;
  const last = record?.lastRun;
  const nextAt = record && !record.pausedAt && !record.vanishedAt ? record.nextAt : null;
  const flags = flagsOf(listed);
  return [
    handler === name ? name : `${name} (${handler})`,
    schedule === '' ? { text: 'by hand', colour: 'dim' } : schedule,
    nextAt ? localTime(nextAt) : '',
    nextAt ? relative(nextAt) : '',
    last ? { text: last.status, colour: STATUS_COLOURS[last.status] } : '',
    record?.queue ?? job?.queue ?? 'default',
    flags.length > 0
      ? { text: flags.join('; '), colour: 'yellow' }
      : { text: job?.description ?? '', colour: 'dim' },
  ];
}

function documentOf(listed: Listed) {
  const { name, record, job, hasHandler } = listed;
  return {
    name,
    job: record?.job ?? name,
    description: job?.description ?? null,
    schedule: scheduleFields(listed),
    queue: record?.queue ?? job?.queue ?? 'default',
    priority: record?.priority ?? job?.priority ?? 0,
    nextAt: record?.nextAt ?? null,
    lastRun: record?.lastRun ?? null,
    origin: record?.origin ?? 'code',
    service: record?.service ?? '',
    inCode: hasHandler,
    registered: record !== null,
    pausedAt: record?.pausedAt ?? null,
    pauseReason: record?.pauseReason ?? null,
    brokenReason: record?.brokenReason ?? null,
    vanishedAt: record?.vanishedAt ?? null,
    flags: flagsOf(listed),
  };
}

function scheduleFields({ record, job }: Listed) {
  const spec = record ? scheduleOfRecord(record) : job?.schedule;
  const after = record ? record.after : job && chainOfJob(job);
  const { window = null, outsideWindow = 'defer' } = record ?? job?.schedule ?? {};
  if (!spec && !after) return null;
  const {
    cron = null,
    every = null,
    anchor = null,
    at = null,
    shift = null,
    timezone = record?.timezone ?? 'UTC',
    dst = 'once',
  } = spec ?? {};
  return { cron, every, anchor, at, after, timezone, dst, shift, window, outsideWindow };
}
