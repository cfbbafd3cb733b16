// What is on record of a run, beside its story: names, numbers, its lease, the runs around it, its documents.

import type { Document, RunReference } from '../../answers/runs/lists.js';
import type { ReadRun } from '../../answers/runs/read-run.js';
import { formatSpan } from '../../model/duration.js';
import { slotText } from '../../model/explain/slot.js';
import type { AnyJob } from '../../model/job/job.js';
import { type HandOffRecord, refusedTexts } from '../../model/run/hand-off-record.js';
import { SUSPECTS } from '../../model/run/limits.js';
import { isNever } from '../../model/run/run-wait.js';
import { isFinished } from '../../model/run/states.js';
import { Facts, Sheet, StatusPill, Tags, Time } from '../layout/parts.js';
import { plainLine } from '../layout/plain-text.js';
import { numberText } from '../layout/text.js';
import type { View } from '../view.js';

export function RunFacts({ view, read }: { readonly view: View; readonly read: ReadRun }) {
  const { run, slots } = read;
  const { intervalStart, scheduledFor } = run;
  const time = (at: Date | null) => (at === null ? null : <Time view={view} at={at} />);
  const list = (query: Record<string, string>, text: string) => (
    <a href={view.link('/runs', query)}>{plainLine(text, 200)}</a>
  );
  return (
    <Sheet>
      <Facts
        rows={[
          ['Job', <a href={view.link(`/jobs/${encodeURIComponent(run.job)}`)}>{plainLine(run.job, 200)}</a>],
          ['Does', view.tock.jobs.get(run.job)?.description ?? null],
          ['Batch', batchText(view.tock.jobs.get(run.job))],
          ['Schedule', run.definition === null ? null : <Schedule view={view} name={run.definition} />],
          ['Key', run.idempotencyKey === null ? null : <code>{plainLine(run.idempotencyKey, 512)}</code>],
          ['Tags', run.tags === null ? null : <Tags view={view} tags={run.tags} />],
          [
            'Queue',
            <>
              {list({ queue: run.queue }, run.queue)}, priority {run.priority}
            </>,
          ],
          [
            'Attempts',
            `${run.attempts} of ${run.maxAttempts}${run.releases > 0 ? `, given back ${times(run.releases)}` : ''}`,
          ],
          ['Deploy', run.deploy === null ? null : list({ deploy: run.deploy }, run.deploy)],
          ['Occurrence', time(scheduledFor)],
          ['Exception', read.exception === null ? null : plainLine(read.exception, 800)],
          [
            'Interval',
            intervalStart === null || scheduledFor === null ? null : (
              <>
                {time(intervalStart)} to {time(scheduledFor)}
              </>
            ),
          ],
          ['Created', time(run.createdAt)],
          ['Due', isNever(run.runAt) ? null : time(run.runAt)],
          ['Started', time(run.startedAt)],
          ['Ended', time(run.finishedAt)],
          ['Asked to stop', time(run.cancelRequestedAt)],
          ['Handed off', run.handOff === null ? null : <HandedOff view={view} handOff={run.handOff} />],
          [
            'Late calls',
            run.handOffs.some(({ refused }) => refused > 0) ? (
              <Lines lines={refusedTexts(run.handOffs)} />
            ) : null,
          ],
          ['Worker', isFinished(run.status) || run.handOff !== null ? null : (run.worker ?? run.lockedBy)],
          [
            'Lease',
            run.status === 'running' &&
            run.lockedUntil !== null &&
            (run.handOff?.decision ?? null) === null ? (
              <Lease view={view} until={run.lockedUntil} />
            ) : null,
          ],
          [
            'Fence',
            <span>
              {run.fence}
              {run.generation > 1 ? `, generation ${run.generation}` : ''}{' '}
              <span class="sub">
                grows with each claim and retry; a write with an older one changes nothing
              </span>
            </span>,
          ],
          ['Slots', slotsText(read).length === 0 ? null : <Lines lines={slotsText(read)} />],
          ['Successor', run.successor === null ? null : `run ${run.successor}, when this one has ended`],
          [
            'Own process',
            run.concurrencyKeys?.includes(SUSPECTS.key) === true
              ? 'each attempt, because an earlier one may have ended its process'
              : null,
          ],
        ]}
      />
      {slots.length > 0 && run.status !== 'running' ? (
        <p class="faint">It keeps its schedule’s turn until it has ended.</p>
      ) : null}
    </Sheet>
  );
}

const batchText = (job: AnyJob | undefined) =>
  job?.batch === undefined
    ? null
    : `its handler is called for up to ${job.batch.size} runs at once${job.batch.key === undefined ? '' : ', of the same key'}`;

const times = (count: number) => (count === 1 ? 'once' : `${count} times`);

function Schedule({ view, name }: { readonly view: View; readonly name: string }) {
  const text = plainLine(name, 200);
  return view.pages.has('/schedules') ? (
    <a href={view.link(`/schedules/${encodeURIComponent(name)}`)}>{text}</a>
  ) : (
    <>{text}</>
  );
}

function HandedOff({ view, handOff }: { readonly view: View; readonly handOff: HandOffRecord }) {
  const { handedOffAt, to } = handOff;
  return (
    <>
      {to === null ? '' : `to ${plainLine(to, 200)} `}
      {handedOffAt === null ? null : <Time view={view} at={handedOffAt} />}
    </>
  );
}

function Lease({ view, until: lockedUntil }: { readonly view: View; readonly until: Date }) {
  const left = lockedUntil.getTime() - view.now.getTime();
  return left > 0 ? (
    <>
      until <Time view={view} at={lockedUntil} />, {formatSpan(left)} left
    </>
  ) : (
    <>
      expired <Time view={view} at={lockedUntil} relative />
    </>
  );
}

/** The slots that it holds, and those that it needs and does not have. */
function slotsText({ run, slots }: ReadRun): string[] {
  if (isFinished(run.status)) return [];
  const held = new Set(slots.map(({ key }) => key));
  const needed = (run.concurrencyKeys ?? []).filter(key => !held.has(key));
  return [
    ...slots.map(({ key, slot }) => `holds ${slotText(key, run)} (${slot})`),
    ...needed.map(key => `${key === run.blockedOn ? 'waits for' : 'needs'} ${slotText(key, run)}`),
  ];
}

function Lines({ lines }: { readonly lines: readonly string[] }) {
  return (
    <>
      {lines.map(line => (
        <div>{plainLine(line, 300)}</div>
      ))}
    </>
  );
}

/** Runs that have to do with this one. */
export function Related({ view, read }: { readonly view: View; readonly read: ReadRun }) {
  const { holders, relations, redirects, origin, joins } = read;
  const groups: readonly (readonly [string, readonly RunReference[]])[] = [
    ['Has what it waits for', holders],
    ['Member of the group of', joins],
    ['Died before it', origin === null ? [] : [origin]],
    ['It runs after', relations?.parents ?? []],
    ['Followed by', relations?.followers ?? []],
    ['Enqueued because it died', redirects],
    ['Occurrence before', relations?.earlier ? [relations.earlier] : []],
    ['Occurrence after', relations?.later ? [relations.later] : []],
  ];
  const shown = groups.filter(([, runs]) => runs.length > 0);
  const awaited = relations?.awaited ?? [];
  if (shown.length === 0 && awaited.length === 0) return null;
  return (
    <>
      <h2>Related runs</h2>
      <Sheet>
        <Facts
          rows={[
            ...shown.map(([name, runs]) => [name, <References view={view} runs={runs} />] as const),
            [
              'Not made yet',
              awaited.length === 0 ? null : awaited.map(name => plainLine(name, 200)).join(', '),
            ] as const,
          ]}
        />
      </Sheet>
    </>
  );
}

function References({ view, runs }: { readonly view: View; readonly runs: readonly RunReference[] }) {
  return (
    <ul class="references">
      {runs.map(run => (
        <li>
          <a class="mono" href={view.link(`/runs/${run.id}`)}>
            {run.id}
          </a>{' '}
          {plainLine(run.definition ?? run.job, 120)} <StatusPill status={run.status} />
        </li>
      ))}
    </ul>
  );
}

export function Documents({ read: { documents } }: { readonly read: ReadRun }) {
  if (documents === null)
    return (
      <>
        <h2>Payload and output</h2>
        <p class="muted">They are not shown to you.</p>
      </>
    );
  return (
    <>
      <DocumentView title="Payload" document={documents.payload} none="It has no payload." />
      {documents.output === null ? null : <DocumentView title="Output" document={documents.output} none="" />}
    </>
  );
}

/** Without line breaks in what is empty. A line break within a text is escaped. */
const compact = (json: string) => json.replace(/\{\n *\}/g, '{}').replace(/\[\n *\]/g, '[]');

function DocumentView({
  title,
  document,
  none,
}: {
  readonly title: string;
  readonly document: Document | null;
  readonly none: string;
}) {
  if (document === null) return <p class="muted document-none">{none}</p>;
  const { text, bytes, isCut } = document;
  return (
    <>
      <h2>
        {title} <small>{numberText(bytes)} bytes</small>
      </h2>
      <pre class="document">{compact(text)}</pre>
      {isCut ? <p class="faint">Only the beginning is shown.</p> : null}
    </>
  );
}
