// Resuming a queue: a page that says how many runs start, how old the oldest is, and asks at which rate.
import type { Context } from 'hono';
import { formatSpan, parseDuration } from '../../../model/duration.js';
import { TockError } from '../../../model/errors.js';
import { rateWords } from '../../../model/explain/queue-state.js';
import { includesRole } from '../../../model/operator.js';
import type { QueueBacklog, ResumedQueue } from '../../../model/queue-methods.js';
import { MAX_COUNTED } from '../../../model/run/match/run-match.js';
import { flash } from '../../flash.js';
import { type EnteredPace, enteredPace, NO_PACE, PaceFields, readPace } from '../../layout/pace.js';
import { Page } from '../../layout/page.js';
import { Empty, Sheet } from '../../layout/parts.js';
import { numberText, relativeText } from '../../layout/text.js';
import type { View } from '../../view.js';
import { limitWords } from './queue-parts.js';

type Handler = Context<{ Variables: { view: View } }>;

/** `2,400 runs start as soon as workers are free; the oldest has waited for 9d.` */
export function waitingWords({ count, oldestMs }: QueueBacklog): string {
  if (count === 0 || oldestMs === null) return 'No run waits in it now.';
  const age = formatSpan(oldestMs);
  if (count === 1) return `1 run starts as soon as a worker is free; it has waited for ${age}.`;
  return `${numberText(count, MAX_COUNTED)} runs start as soon as workers are free; the oldest has waited for ${age}.`;
}

/** Since when it is paused and why, or until when it is closed. */
function stopWords({ pausedAt, pauseReason, closedUntil }: ResumedQueue, now: Date): string {
  if (pausedAt !== null)
    return `Paused ${relativeText(pausedAt, now)}${pauseReason === null ? '.' : `: ${pauseReason}`}`;
  return `A handler has closed it: it opens ${relativeText(closedUntil ?? now, now)} by itself.`;
}

/** @param refused what was entered, and why it was refused */
export async function askToResume(
  c: Handler,
  name: string,
  refused: { readonly entered: EnteredPace; readonly message: string } | null = null,
) {
  const view = c.get('view');
  const queue = await view.tock.queues.resume(name, { dryRun: true });
  const address = view.link(`/queues/${encodeURIComponent(name)}`);
  if (!queue.wasPaused)
    return c.html(
      <Page view={view} title={`${name} is not paused`} current="queues">
        <Empty title="It is neither paused nor closed">
          <p>
            <a href={address}>Back to the queue</a>
          </p>
        </Empty>
      </Page>,
    );
  const mayAct = includesRole(view.user.role, 'operate');
  return c.html(
    <Page view={view} title={`Resume ${name}?`} current="queues" lead={stopWords(queue, view.now)}>
      <Sheet>
        <p class="backlog">
          <b>{waitingWords(queue.backlog)}</b>
        </p>
        {refused === null ? null : (
          <p class="refused" role="alert">
            {refused.message}
          </p>
        )}
        <form method="post" action={`${address}/resume`}>
          <RateQuestion queue={queue} entered={refused?.entered ?? NO_PACE} />
          <div class="buttons question">
            {mayAct ? (
              <button class="main">Resume {name}</button>
            ) : (
              <span class="muted">This needs the role operate.</span>
            )}
            <a class="button" href={address}>
              {queue.pausedAt === null ? 'Keep it closed' : 'Keep it paused'}
            </a>
          </div>
        </form>
      </Sheet>
    </Page>,
    refused === null ? 200 : 400,
  );
}

/** Only for a queue without a rate: one that somebody has set is never replaced. */
function RateQuestion({ queue, entered }: { readonly queue: ResumedQueue; readonly entered: EnteredPace }) {
  const others = limitWords({ ...queue, rate: null });
  if (queue.rate !== null)
    return (
      <p>
        Its rate holds: at most <b>{rateWords(queue.rate)}</b> start.
        {others === '' ? null : ` So do its other limits: ${others}.`}
      </p>
    );
  return (
    <>
      {others === '' ? null : <p>Its limits hold: {others}.</p>}
      <PaceFields
        entered={entered}
        hint="Without a number they start as fast as workers take them. With one, the queue keeps this rate until it is changed, for new runs too; its page has a button that lifts it."
      />
    </>
  );
}

export async function resumeQueue(c: Handler, name: string) {
  const view = c.get('view');
  const body = await c.req.parseBody();
  const text = (field: string) => (typeof body[field] === 'string' ? body[field].trim() : '');
  const entered = enteredPace(text);
  try {
    const rate = readPace(entered);
    const { wasPaused, backlog } = await view.tock.queues.resume(name, rate === null ? {} : { rate });
    const pace =
      rate === null ? '' : paceWords(backlog, { count: rate.count, perMs: parseDuration(rate.per) });
    flash(c, wasPaused ? `${name} is resumed: its runs start.${pace}` : `${name} was open.`);
  } catch (error) {
    if (!(error instanceof TockError) || !error.code.startsWith('TOCK_BAD_')) throw error;
    return await askToResume(c, name, { entered, message: error.message });
  }
  return c.redirect(view.link(`/queues/${encodeURIComponent(name)}`), 303);
}

/** The rate that was set, and how long what waits takes at it. */
function paceWords(
  { count }: QueueBacklog,
  rate: { readonly count: number; readonly perMs: number },
): string {
  const atMost = ` At most ${rateWords(rate)} start, until the rate is changed`;
  if (count <= rate.count) return `${atMost}.`;
  const span = formatSpan((count / rate.count) * rate.perMs);
  return `${atMost}: what waits takes ${count > MAX_COUNTED ? 'more than' : 'about'} ${span}.`;
}
