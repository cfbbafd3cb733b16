// The forms of one queue: pause or resume it, set and remove its limits.
import type { QueueLoad } from '../../../answers/queues.js';
import { rateText, rateWords } from '../../../model/explain/queue-state.js';
import { includesRole } from '../../../model/operator.js';
import type { QueueBacklog } from '../../../model/queue-methods.js';
import { ActionForm, Facts, Hidden, Sheet } from '../../layout/parts.js';
import { UntilInput } from '../../layout/pause-fields.js';
import type { View } from '../../view.js';
import { isStopped, limitWords, overrideLines, Resume } from './queue-parts.js';
import { waitingWords } from './queue-resume.js';

/** The fields of the limits. */
export const LIMITS = ['concurrency', 'rate', 'window', 'timezone'] as const;
export type Limit = (typeof LIMITS)[number];
/** Their texts. */
export type Entered = Readonly<Record<Limit, string>>;

/** What was entered and refused, and why. */
export interface Refused {
  readonly entered: Entered;
  /** What the form showed at first: what differs from it is set. */
  readonly was: Entered;
  /** When it ends. */
  readonly until: string;
  readonly message: string;
}

export function Pausing({
  view,
  queue,
  backlog,
  isUnknown,
}: {
  readonly view: View;
  readonly queue: QueueLoad;
  readonly backlog: QueueBacklog;
  /** Nothing names it: it may be misspelt. */
  readonly isUnknown: boolean;
}) {
  const { name, pausedAt } = queue;
  if (!includesRole(view.user.role, 'operate')) return null;
  const resuming = isStopped(queue) ? (
    <>
      <h2>{pausedAt === null ? 'Closed' : 'Paused'}</h2>
      <Sheet>
        <p>{waitingWords(backlog)}</p>
        <Resume view={view} queue={queue} main />
      </Sheet>
    </>
  ) : null;
  if (pausedAt !== null) return resuming;
  return (
    <>
      {resuming}
      <h2>Pause</h2>
      <Sheet>
        <form method="post" action={view.link(`/queues/${encodeURIComponent(name)}/pause`)} class="fields">
          <label>
            <span>Until</span>
            <UntilInput />
          </label>
          <label class="grow">
            <span>Why</span>
            <input name="note" maxlength={500} placeholder="shown wherever it matters why nothing runs" />
          </label>
          <button>{isUnknown ? `Pause ${name} all the same` : `Pause ${name}`}</button>
        </form>
      </Sheet>
    </>
  );
}

function enteredOf(queue: QueueLoad): Entered {
  const { concurrency, rate, window, timezone } = queue;
  return {
    concurrency: concurrency === null ? '' : String(concurrency),
    rate: rateText(rate),
    window: window ?? '',
    timezone,
  };
}

const FIELDS: Readonly<
  Record<Limit, { readonly label: string; readonly hint: string; readonly placeholder: string }>
> = {
  concurrency: {
    label: 'At once',
    hint: 'Most runs at once, over all hosts. 0 lets none start.',
    placeholder: 'no limit',
  },
  rate: {
    label: 'Rate',
    hint: 'Starts per period, spread evenly: 100/1m is one every 600 ms.',
    placeholder: 'no limit',
  },
  window: { label: 'Window', hint: 'Hours in which runs may start: 23:00-06:00.', placeholder: 'all day' },
  timezone: { label: 'Time zone', hint: 'Of the window: Europe/Berlin.', placeholder: 'UTC' },
};

const removal = ({ pausedAt }: QueueLoad) =>
  pausedAt === null ? 'Remove all limits' : 'Remove all limits and the pause';

/** The rate by itself: it may have come with a resume, and is lifted by one button. */
function Rate({ view, queue, backlog }: { readonly backlog: QueueBacklog } & Omit<LimitsProps, 'refused'>) {
  const { name, rate } = queue;
  if (rate === null) return null;
  return (
    <div class="rate">
      <p>
        At most <b>{rateWords(rate)}</b> start{queue.pausedAt === null ? '' : ' once it is resumed'}. The
        queue keeps this rate until it is changed, for new runs too.
      </p>
      <ActionForm
        view={view}
        action={`/queues/${encodeURIComponent(name)}/limits`}
        label="Lift the rate …"
        confirm={{
          verb: `Lift the rate of ${name}`,
          keep: 'Keep the rate',
          text: waitingWords(backlog),
        }}
        fields={{ 'was-rate': rateText(rate), rate: '' }}
        needs="admin"
      />
    </div>
  );
}

/** What code states, and what lies on top, which one button ends. */
function InCode({ view, queue, backlog }: { readonly backlog: QueueBacklog } & Omit<LimitsProps, 'refused'>) {
  const { name, inCode } = queue;
  const changed = overrideLines(view, queue).map(line => <p class="muted">{line}</p>);
  if (inCode === null) return <>{changed}</>;
  const stated = limitWords({ ...inCode, relayedTo: inCode.relay }) || 'no limits';
  if (changed.length === 0)
    return (
      <p class="muted">
        Code states them (<code>defineQueue</code>). What is set here lies on top, until its end or until it
        is reset.
      </p>
    );
  return (
    <div class="rate">
      <p>
        Code states: <b>{stated}</b>. On top of that:
      </p>
      {changed}
      <ActionForm
        view={view}
        action={`/queues/${encodeURIComponent(name)}/reset`}
        label="Reset it to its code …"
        confirm={{
          verb: `Reset ${name} to its code`,
          keep: 'Keep what was set',
          text: `Code states: ${stated}. ${waitingWords(backlog)}`,
        }}
        needs="admin"
      />
    </div>
  );
}

interface LimitsProps {
  readonly view: View;
  readonly queue: QueueLoad;
  readonly backlog: QueueBacklog;
  readonly refused: Refused | null;
}

export function Limits({ view, queue, backlog, refused }: LimitsProps) {
  const action = `/queues/${encodeURIComponent(queue.name)}`;
  const stored = enteredOf(queue);
  const { entered, was } = refused ?? { entered: stored, was: stored };
  if (!includesRole(view.user.role, 'admin'))
    return (
      <>
        <h2>Limits</h2>
        <Sheet>
          {limitWords(queue) === '' ? (
            <p class="muted">It has none.</p>
          ) : (
            <Facts
              rows={LIMITS.map(
                limit => [FIELDS[limit].label, stored[limit] === '' ? null : stored[limit]] as const,
              )}
            />
          )}
          {overrideLines(view, queue).map(line => (
            <p class="muted">{line}</p>
          ))}
          <p class="faint">The role admin can set them.</p>
        </Sheet>
      </>
    );
  return (
    <>
      <h2 id="limits">Limits</h2>
      <Sheet>
        {refused === null ? null : (
          <p class="refused" role="alert">
            {refused.message}
          </p>
        )}
        <InCode view={view} queue={queue} backlog={backlog} />
        <Rate view={view} queue={queue} backlog={backlog} />
        <form method="post" action={view.link(`${action}/limits`)} class="fields column">
          <Hidden fields={Object.fromEntries(LIMITS.map(limit => [`was-${limit}`, was[limit]]))} />
          {LIMITS.map(limit => (
            <label>
              <span>{FIELDS[limit].label}</span>
              <input
                name={limit}
                value={entered[limit]}
                placeholder={FIELDS[limit].placeholder}
                aria-describedby={`hint-${limit}`}
                inputmode={limit === 'concurrency' ? 'numeric' : undefined}
                autocomplete="off"
              />
              <small id={`hint-${limit}`}>{FIELDS[limit].hint}</small>
            </label>
          ))}
          {queue.inCode === null ? null : (
            <label>
              <span>Until</span>
              <input
                name="until"
                value={refused?.until ?? ''}
                placeholder="until it is reset"
                aria-describedby="hint-until"
                autocomplete="off"
              />
              <small id="hint-until">
                When what is set ends, and what code states holds again: 2h, or 2026-03-09T08:00:00Z.
              </small>
            </label>
          )}
          <div class="actions">
            <button class="main">Set limits</button>
          </div>
        </form>
        {queue.inCode !== null || (limitWords(queue) === '' && queue.pausedAt === null) ? null : (
          <ActionForm
            view={view}
            action={`${action}/remove`}
            label={`${removal(queue)} …`}
            confirm={{
              verb: `${removal(queue)} of ${queue.name}`,
              keep: 'Keep them',
              text: `Its limits are: ${limitWords(queue) || 'none; it has a pause only'}. ${waitingWords(backlog)}`,
            }}
            needs="admin"
          />
        )}
      </Sheet>
    </>
  );
}
