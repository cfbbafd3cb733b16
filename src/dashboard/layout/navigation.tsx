// The list of pages beside each page, with what is worth a look.

import { formatSpan } from '../../model/duration.js';
import { MAX_COUNTED } from '../../model/run/match/run-match.js';
import type { View } from '../view.js';

export type PageName =
  | 'now'
  | 'schedules'
  | 'runs'
  | 'errors'
  | 'alerts'
  | 'queues'
  | 'workers'
  | 'load'
  | 'audit'
  | 'doctor';

export interface Entry {
  readonly name: PageName;
  readonly path: string;
  readonly label: string;
  /** The letter that leads there after `g`. */
  readonly key: string;
}

export const ENTRIES: readonly Entry[] = [
  { name: 'now', path: '/', label: 'Now', key: 'n' },
  { name: 'schedules', path: '/schedules', label: 'Schedules', key: 's' },
  { name: 'runs', path: '/runs', label: 'Runs', key: 'r' },
  { name: 'errors', path: '/errors', label: 'Errors', key: 'e' },
  { name: 'alerts', path: '/alerts', label: 'Alerts', key: 't' },
  { name: 'queues', path: '/queues', label: 'Queues', key: 'q' },
  { name: 'workers', path: '/workers', label: 'Workers', key: 'w' },
  { name: 'load', path: '/load', label: 'Load', key: 'l' },
  { name: 'audit', path: '/audit', label: 'Audit', key: 'a' },
  { name: 'doctor', path: '/doctor', label: 'Doctor', key: 'd' },
];

export function Navigation({ view, current }: { readonly view: View; readonly current: PageName | null }) {
  return (
    <nav id="pages" class="pages" aria-label="Pages">
      <Brand href={view.link('/')} />
      {view.among === null ? null : (
        <a class="among" href={view.among.overview} data-key="o">
          ‹ all databases <b>{view.among.name}</b>
        </a>
      )}
      {ENTRIES.filter(({ path }) => view.pages.has(path)).map(({ name, path, label, key }) => (
        <a
          href={view.link(path)}
          class={name === current ? 'here' : ''}
          aria-current={name === current ? 'page' : undefined}
          data-key={key}
        >
          {label}
          <Badge view={view} name={name} />
        </a>
      ))}
      <div class="foot">
        <span class="database">{view.frame.database} · </span>PostgreSQL {view.frame.serverVersion}
        <br />
        {view.frame.replicaLagMs === null ? null : (
          <>
            read from a replica, {formatSpan(view.frame.replicaLagMs)} behind
            <br />
          </>
        )}
        {view.user.name} · {view.user.role}
        {view.canSignOut ? (
          <form method="post" action={view.link('/sign-out')} class="sign-out">
            <button>Sign out</button>
          </form>
        ) : (
          <br />
        )}
        <span class="live" id="live" hidden></span>
      </div>
    </nav>
  );
}

export function Brand({ href }: { readonly href: string }) {
  return (
    <a class="brand" href={href}>
      <svg width="18" height="18" viewBox="0 0 18 18" aria-hidden="true">
        <circle cx="9" cy="9" r="7.5" fill="none" stroke="currentColor" stroke-width="1.6" />
        <path d="M9 4.5V9l3 2" fill="none" stroke="currentColor" stroke-width="1.6" stroke-linecap="round" />
      </svg>
      Tock
    </a>
  );
}

function Badge({ view, name }: { readonly view: View; readonly name: PageName }) {
  const { schedules, dead, workers, pausedQueues, alertsDown } = view.frame;
  if (name === 'schedules') return <b>{capped(schedules, 10_000)}</b>;
  if (name === 'workers') return <b>{workers}</b>;
  if (name === 'errors' && dead > 0) return <b class="bad">{capped(dead, MAX_COUNTED)}</b>;
  if (name === 'alerts' && alertsDown > 0) return <b class="bad">{capped(alertsDown, MAX_COUNTED)}</b>;
  if (name === 'queues' && pausedQueues > 0) return <b class="bad">{pausedQueues}</b>;
  return null;
}

const capped = (count: number, cap: number) => (count > cap ? `${cap}+` : `${count}`);
