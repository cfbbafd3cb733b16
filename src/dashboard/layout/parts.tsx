// What pages are made of.
import type { Child } from 'hono/jsx';
import { includesRole, type Role } from '../../model/operator.js';
import type { RunStatus } from '../../model/run/states.js';
import type { View } from '../view.js';
import { plainLine } from './plain-text.js';
import { longTime, placeOf, relativeText, shortTime } from './text.js';

/** An instant in the reader's zone, or relative to now; both zones stand in its title. Null: a dash. */
export function Time({
  view,
  at,
  relative = false,
}: {
  readonly view: View;
  readonly at: Date | null;
  readonly relative?: boolean;
}) {
  if (at === null) return <span class="faint">–</span>;
  const { zone, now } = view;
  const local = zone === 'UTC' ? '' : ` · ${longTime(at, zone)} in ${placeOf(zone)}`;
  return (
    <time
      datetime={at.toISOString()}
      title={`${longTime(at, 'UTC')} UTC${local}`}
      data-at={relative ? at.getTime() : undefined}
    >
      {relative ? relativeText(at, now) : shortTime(at, zone, now)}
    </time>
  );
}

const PILLS: Readonly<Record<RunStatus, { readonly look: string; readonly word: string }>> = {
  queued: { look: 'wait', word: 'waiting' },
  running: { look: 'run', word: 'running' },
  failed: { look: 'retry', word: 'retrying' },
  succeeded: { look: 'ok', word: 'succeeded' },
  dead: { look: 'dead', word: 'dead' },
  cancelled: { look: 'cancel', word: 'cancelled' },
  skipped: { look: 'skip', word: 'skipped' },
};

/** A run's state: a shape, a colour and a word. */
export function StatusPill({ status }: { readonly status: RunStatus }) {
  const { look, word } = PILLS[status];
  return <span class={`pill ${look}`}>{word}</span>;
}

/** @param children default: run and its id */
export function RunLink({
  view,
  id,
  children,
}: {
  readonly view: View;
  readonly id: string;
  readonly children?: Child;
}) {
  return <a href={view.link(`/runs/${encodeURIComponent(id)}`)}>{children ?? `run ${id}`}</a>;
}

/** What may be entered in the fields whose `list` is this id. */
export function Suggestions({ id, values }: { readonly id: string; readonly values: readonly string[] }) {
  return (
    <datalist id={id}>
      {values.map(value => (
        <option value={value} />
      ))}
    </datalist>
  );
}

/** Tags of a run, each with a link to the runs that have it. */
export function Tags({ view, tags }: { readonly view: View; readonly tags: readonly string[] | null }) {
  if (tags === null) return null;
  return (
    <span class="tags">
      {tags.map(tag => (
        <a class="tag" href={view.link('/runs', { tag })}>
          {plainLine(tag, 64)}
        </a>
      ))}
    </span>
  );
}

/** In place of a list that has nothing: what that means, and what to do. */
export function Empty({ title, children }: { readonly title: string; readonly children?: Child }) {
  return (
    <div class="empty">
      <p>
        <b>{title}</b>
      </p>
      {children}
    </div>
  );
}

/** A raised surface. `flush`: for a table, which has its own padding. */
export function Sheet({ children, flush = false }: { readonly children?: Child; readonly flush?: boolean }) {
  return <div class={flush ? 'sheet flush' : 'sheet'}>{children}</div>;
}

/** Names and values; rows whose value is null are left out. */
export function Facts({ rows }: { readonly rows: readonly (readonly [string, Child])[] }) {
  return (
    <dl class="facts">
      {rows
        .filter(([, value]) => value !== null && value !== undefined)
        .map(([name, value]) => (
          <>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </>
        ))}
    </dl>
  );
}

type Field = string | number | null | undefined;
/** Hidden fields by name; a list gives one field for each of its values. */
export type Fields = Readonly<Record<string, Field | readonly Field[]>>;

/** Asked before an action, in the page or on one of its own. Both buttons say what they do. */
export interface Question {
  /** The action and what it is done to, as the title and its button say it: `Stop run 7`. */
  readonly verb: string;
  /** The other button, its opposite: `Keep it running`. */
  readonly keep: string;
  /** What happens then: a sentence with the count. */
  readonly text: string;
}

export interface ActionFormProps {
  readonly view: View;
  /** Where to post, without the base path: `/runs/7/retry`. */
  readonly action: string;
  readonly label: string;
  readonly confirm?: Question;
  /** Hidden fields. Null and undefined are left out. */
  readonly fields?: Fields;
  /** The button that most readers want. */
  readonly main?: boolean;
  readonly needs: Role;
}

/** A button that does something: a form that works without JavaScript. Nothing for who may not press it. */
export function ActionForm({ view, action, label, confirm, fields = {}, main, needs }: ActionFormProps) {
  if (!includesRole(view.user.role, needs)) return null;
  return (
    <form method="post" action={view.link(confirm === undefined ? action : '/confirm')} class="action">
      <Hidden fields={fields} />
      {confirm === undefined ? null : (
        <Hidden
          fields={{
            'confirm-action': action,
            'confirm-verb': confirm.verb,
            'confirm-keep': confirm.keep,
            'confirm-text': confirm.text,
            'confirm-back': view.here,
          }}
        />
      )}
      <button class={main === true ? 'main' : ''}>{label}</button>
    </form>
  );
}

export function Hidden({ fields }: { readonly fields: Fields }) {
  const pairs = Object.entries(fields).flatMap(([name, value]) =>
    [value].flat().map(each => [name, each] as const),
  );
  return (
    <>
      {pairs.map(([name, value]) =>
        value === null || value === undefined ? null : <input type="hidden" name={name} value={`${value}`} />,
      )}
    </>
  );
}
