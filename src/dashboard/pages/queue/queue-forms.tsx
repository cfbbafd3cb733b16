// The forms of one queue: pause or resume it, set and remove its limits.
import { rateText, rateWords } from '../../../model/explain/queue-state.js';
import { includesRole } from '../../../model/operator.js';
import type { QueueBacklog } from '../../../model/queue-methods.js';
import type { QueueLoad } from '../../../store/reads/queue-load.js';
import { ActionForm, Facts, Hidden, Sheet } from '../../layout/parts.js';
import type { View } from '../../view.js';
import { limitWords, Resume } from './queue-parts.js';
import { waitingWords } from './queue-resume.js';

/** The fields of the limits. */
export const LIMITS = ['concurrency', 'rate', 'window', 'timezone'] as const;
export type Limit = (typeof LIMITS)[number];
/** Their texts. */
export type Entered = Readonly<Record<Limit, string>>;

/** What was entered and refused, and why. */
export interface Refused {
  readonly entered: Entered;
  readonly message: string;
}

export function Pausing({
  view,
  queue,
  backlog,
}: {
  readonly view: View;
  readonly queue: QueueLoad;
  readonly backlog: QueueBacklog;
}) {
  const { name, pausedAt } = queue;
  if (!includesRole(view.user.role, 'operate')) return null;
  if (pausedAt !== null)
    return (
      <>
        <h2>Paused</h2>
        <Sheet>
          <p>{waitingWords(backlog)}</p>
          <Resume view={view} queue={queue} main />
        </Sheet>
      </>
    );
  return (
    <>
      <h2>Pause</h2>
      <Sheet>
        <form method="post" action={view.link(`/queues/${encodeURIComponent(name)}/pause`)} class="fields">
          <label class="grow">
            <span>Why</span>
            <input name="note" maxlength={500} placeholder="shown wherever it matters why nothing runs" />
          </label>
          <button>Pause {name}</button>
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

interface LimitsProps {
  readonly view: View;
  readonly queue: QueueLoad;
  readonly backlog: QueueBacklog;
  readonly refused: Refused | null;
}

export function Limits({ view, queue, backlog, refused }: LimitsProps) {
  const action = `/queues/${encodeURIComponent(queue.name)}`;
  const stored = enteredOf(queue);
  const entered = refused?.entered ?? stored;
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
        <Rate view={view} queue={queue} backlog={backlog} />
        <form method="post" action={view.link(`${action}/limits`)} class="fields column">
          <Hidden fields={Object.fromEntries(LIMITS.map(limit => [`was-${limit}`, stored[limit]]))} />
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
          <div class="actions">
            <button class="main">Set limits</button>
          </div>
        </form>
        {limitWords(queue) === '' && queue.pausedAt === null ? null : (
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
