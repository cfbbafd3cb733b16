// What the pages Queues, Workers and Audit share: links to what they name, which runs hold slots, audit rows.

import type { Child } from 'hono/jsx';
import { auditWords } from '../../answers/audit-words.js';
import type { Holder } from '../../answers/queues.js';
import type { AuditRecord } from '../../model/audit.js';
import { RunLink, Time } from '../layout/parts.js';
import { numberText, relativeText } from '../layout/text.js';
import type { View } from '../view.js';

export function QueueLink({ view, name }: { readonly view: View; readonly name: string }) {
  return <a href={view.link(`/queues/${encodeURIComponent(name)}`)}>{name}</a>;
}

/** The definition where a run has one, else the job. */
export const runName = ({
  job,
  definition,
}: {
  readonly job: string | null;
  readonly definition: string | null;
}) => definition ?? job ?? 'a run that has ended';

/** The runs that hold slots under a limit, with links. */
export function Holders({
  view,
  holders,
  held,
}: {
  readonly view: View;
  readonly holders: readonly Holder[];
  readonly held: number;
}) {
  return (
    <ul class="plain">
      {holders.map(({ id, job, definition, startedAt, host, pid, status }) => (
        <li>
          <RunLink view={view} id={id} /> <span class="muted">of {runName({ job, definition })}</span>
          <span class="sub">
            {status === 'running' && startedAt !== null
              ? `started ${relativeText(startedAt, view.now)}`
              : null}
            {status === 'running' ? null : holderState(status)}
            {host === null ? null : ` on ${host} pid ${pid}`}
          </span>
        </li>
      ))}
      {held > holders.length ? <li class="muted">and {numberText(held - holders.length)} more</li> : null}
    </ul>
  );
}

/** A turn is kept between attempts. */
function holderState(status: string | null): string {
  if (status === 'failed') return 'keeps it until its next attempt';
  return status === null ? 'has ended: its slot is about to be freed' : 'waits for its start, and keeps it';
}

/** What was done, with links to what it was done to. */
export function AuditWhat({ view, record }: { readonly view: View; readonly record: AuditRecord }) {
  const { did, what, facts } = auditWords(record);
  const [only] = record.targets;
  const href = record.count === 1 && only !== undefined ? targetHref(view, record.action, only) : null;
  return (
    <>
      {did} {href === null ? what : <a href={href}>{what}</a>}
      {facts.length === 0 ? null : <span class="sub">{facts.join(' · ')}</span>}
      {record.count > 1 && record.targets.length > 0 ? <Targets view={view} record={record} /> : null}
    </>
  );
}

function Targets({ view, record }: { readonly view: View; readonly record: AuditRecord }) {
  const { action, targets, count } = record;
  const isNamedOnce = action === 'schedules.backfill';
  const links = targets.map(target => {
    const href = targetHref(view, action, target);
    return href === null ? <span>{target}</span> : <a href={href}>{target}</a>;
  });
  if (isNamedOnce) return null;
  return (
    <details class="targets">
      <summary>{count > targets.length ? `the first ${targets.length}` : 'which'}</summary>
      <p class="list">{links}</p>
    </details>
  );
}

/** The page of what an action was done to; null if it has none. */
function targetHref(view: View, action: string, target: string): string | null {
  const [group] = action.split('.');
  if (group === 'enqueue' || group === 'runs') return view.link(`/runs/${encodeURIComponent(target)}`);
  if (group === 'queues') return view.link(`/queues/${encodeURIComponent(target)}`);
  // A schedule that was removed has no page any more.
  if (action === 'schedules.remove') return null;
  return group === 'schedules' ? view.link(`/schedules/${encodeURIComponent(target)}`) : null;
}

/** A short list of what was done to one thing. */
export function AuditList({
  view,
  records,
}: {
  readonly view: View;
  readonly records: readonly AuditRecord[];
}) {
  return (
    <ul class="plain events">
      {records.map(record => (
        <li>
          <span class="faint nowrap">
            <Time view={view} at={record.at} relative />
          </span>
          <div>
            <b>{record.operator}</b> <AuditWhat view={view} record={record} />
          </div>
        </li>
      ))}
    </ul>
  );
}

/** Something that an operator should know, with what helps. */
export function Warning({
  title,
  children,
  help,
}: {
  readonly title: string;
  readonly children?: Child;
  readonly help?: Child;
}) {
  return (
    <section class="health warning">
      <svg width="18" height="18" viewBox="0 0 18 18" aria-hidden="true">
        <path class="f-retry" d="M9 1.5 17 16H1z" />
        <path class="warning-mark" d="M9 6.5v4.5M9 13v1" />
      </svg>
      <div>
        <p>
          <b>{title}</b>
        </p>
        {children === undefined ? null : <p class="remedy">{children}</p>}
      </div>
      {help === undefined ? null : <div class="help">{help}</div>}
    </section>
  );
}
