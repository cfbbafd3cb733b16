// A group as text: how far it is, its members by state, what its join waits for, the slowest, the errors.
import { formatSpan } from '../../model/duration.js';
import { endedOf, type GroupRecord, groupSentence, MEMBER_STATUSES } from '../../model/run/group-record.js';
import { cleanLine, paint, paintStatus } from '../terminal.js';
import { progressBar } from './run-text.js';
import { drawTable } from './table.js';
import { localTime, relative } from './time-text.js';

export async function groupText(group: GroupRecord): Promise<string> {
  const { id, job, status, on, states, waitsFor, slowest, errors } = group;
  const facts: readonly (readonly [string, string])[] = [
    ['progress', bar(group)],
    ...MEMBER_STATUSES.filter(each => states[each] > 0).map(
      each => [each, paintMember(each, states[each].toLocaleString('en'))] as const,
    ),
    ['join', `${paintStatus(status)}, when ${on === 'success' ? 'all have succeeded' : 'all have ended'}`],
    ['key', cleanLine(group.key ?? '')],
    ['enqueued', `${localTime(group.createdAt)} (${relative(group.createdAt)})`],
    ['joined', group.endedAt === null ? '' : `${localTime(group.endedAt)} (${relative(group.endedAt)})`],
    ['waits for', waitsFor.map(each => `run ${each.id} (${each.status})`).join(', ')],
  ];
  return [
    `${paint('bold', `group ${id} of ${cleanLine(job)}`)}: ${groupSentence(group)}`,
    ...facts
      .filter(([, value]) => value !== '')
      .map(([name, value]) => `  ${paint('dim', name.padEnd(10))}  ${value}`),
    ...(slowest.length === 0 ? [] : ['', paint('bold', 'Slowest'), await slowestTable(group)]),
    ...(errors.length === 0 ? [] : ['', paint('bold', 'Errors of dead members'), await errorTable(group)]),
  ].join('\n');
}

function bar(group: GroupRecord): string {
  const fraction = group.count === 0 ? 1 : endedOf(group) / group.count;
  return progressBar({ fraction, stage: `of ${runsText(group.count)} have ended` }, process.stdout.isTTY);
}

const runsText = (count: number) => `${count.toLocaleString('en')} run${count === 1 ? '' : 's'}`;

const paintMember = (status: string, text: string) =>
  status === 'dead' ? paint('red', text) : status === 'succeeded' ? paint('green', text) : text;

async function slowestTable({ slowest }: GroupRecord): Promise<string> {
  return await drawTable(
    [
      { title: 'RUN', align: 'right' },
      { title: 'JOB', flexible: true },
      { title: 'STATUS' },
      { title: 'TOOK', align: 'right' },
    ],
    slowest.map(({ id, job, status, tookMs }) => [
      id,
      job,
      status,
      `${formatSpan(tookMs)}${status === 'running' ? ' …' : ''}`,
    ]),
  );
}

async function errorTable({ errors }: GroupRecord): Promise<string> {
  return await drawTable(
    [
      { title: 'RUNS', align: 'right' },
      { title: 'JOB' },
      { title: 'ERROR', flexible: true },
      { title: 'LAST', align: 'right' },
    ],
    errors
      .slice(0, 10)
      .map(({ count, job, error, lastId }) => [
        count.toLocaleString('en'),
        job,
        `${error.code ?? error.name}: ${error.message}`,
        lastId,
      ]),
  );
}
