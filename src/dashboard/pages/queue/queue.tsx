// One queue: its state, which runs hold its slots, what was done to it; pause, resume and limits.
import type { Context } from 'hono';
import { TockError } from '../../../model/errors.js';
import { parseRate, queueState } from '../../../model/explain/queue-state.js';
import { handOffsText, relayedText } from '../../../model/explain/relayed.js';
import { isStorable, quote } from '../../../model/names.js';
import type { QueueLimits } from '../../../model/queue-methods.js';
import { listAudit } from '../../../store/reads/audit.js';
import { readQueueHandOffs } from '../../../store/reads/queue-hand-offs.js';
import { type QueueLoad, readBlockingKeys, readQueueLoad } from '../../../store/reads/queue-load.js';
import { isQueueNamed, readBacklog } from '../../../store/reads/queues.js';
import { flash } from '../../flash.js';
import { Page } from '../../layout/page.js';
import { Empty, Sheet } from '../../layout/parts.js';
import type { App, View } from '../../view.js';
import { AuditList } from '../operate-parts.js';
import { type Entered, LIMITS, type Limit, Limits, Pausing, type Refused } from './queue-forms.js';
import { BlockingKeys, QueuePill } from './queue-parts.js';
import { askToResume, resumeQueue } from './queue-resume.js';
import { Lead, QueueFigures, Slots } from './queue-state-parts.js';

type Handler = Context<{ Variables: { view: View } }>;

export function addQueuePage(app: App): void {
  app.get('/queues/:name', async c => await showQueue(c, null));
  app.post('/queues/:name/pause', async c => {
    const name = nameOf(c);
    const { note } = await c.req.parseBody();
    const reason = typeof note === 'string' ? note.trim() : '';
    await c.get('view').tock.queues.pause(name, reason === '' ? {} : { note: reason });
    return done(c, name, `${name} is paused: none of its runs starts until it is resumed.`);
  });
  app.get('/queues/:name/resume', async c => await askToResume(c, nameOf(c)));
  app.post('/queues/:name/resume', async c => await resumeQueue(c, nameOf(c)));
  app.post('/queues/:name/remove', async c => {
    const name = nameOf(c);
    const isRemoved = await c.get('view').tock.queues.remove(name);
    return done(
      c,
      name,
      isRemoved ? `${name} has no limits and no pause any more.` : `${name} had no limits and no pause.`,
    );
  });
  app.post('/queues/:name/limits', async c => {
    const name = nameOf(c);
    const body = await c.req.parseBody();
    const text = (field: string) => (typeof body[field] === 'string' ? body[field].trim() : '');
    const entered = Object.fromEntries(LIMITS.map(limit => [limit, text(limit)])) as Entered;
    try {
      const limits = readLimits(
        LIMITS.filter(limit => entered[limit] !== text(`was-${limit}`)),
        entered,
      );
      if (Object.keys(limits).length === 0) return done(c, name, `The limits of ${name} are as they were.`);
      await c.get('view').tock.queues.set(name, limits);
    } catch (error) {
      if (!(error instanceof TockError) || !error.code.startsWith('TOCK_BAD_')) throw error;
      c.status(400);
      return await showQueue(c, { entered, message: error.message });
    }
    return done(c, name, `${name} has new limits. They apply from the next claim on.`);
  });
}

/** Any that a run may have: to change something, it must be a proper one. */
function nameOf(c: Handler): string {
  const name = c.req.param('name') ?? '';
  if (name.length <= 200 && isStorable(name)) return name;
  throw new TockError('TOCK_BAD_OPTION', `${quote(name)} is not the name of a queue`);
}

function done(c: Handler, name: string, message: string) {
  flash(c, message);
  return c.redirect(c.get('view').link(`/queues/${encodeURIComponent(name)}`), 303);
}

/** Only what was changed in the form: what another operator has changed in the meantime stays. */
function readLimits(changed: readonly Limit[], entered: Entered): QueueLimits {
  const read: { readonly [L in Limit]: (text: string) => QueueLimits } = {
    concurrency: text => ({ concurrency: text === '' ? null : readConcurrency(text) }),
    rate: text => ({ rate: text === '' ? null : parseRate(text) }),
    window: text => ({ window: text === '' ? null : text }),
    timezone: text => ({ timezone: text === '' ? 'UTC' : text }),
  };
  return Object.assign({}, ...changed.map(limit => read[limit](entered[limit]))) as QueueLimits;
}

function readConcurrency(text: string): number {
  if (/^\d{1,7}$/.test(text)) return Number(text);
  throw new TockError(
    'TOCK_BAD_OPTION',
    `concurrency ${quote(text)} is not a whole number; leave it empty for no limit`,
  );
}

const RECENT = 8;

async function showQueue(c: Handler, refused: Refused | null) {
  const view = c.get('view');
  const name = nameOf(c);
  const [[queue = nothing(name)], keys, records, backlog] = await Promise.all([
    readQueueLoad(view.reads, { name }),
    readBlockingKeys(view.reads, { queue: name }),
    listAudit(view.reads, { action: 'queues', target: name, limit: RECENT }),
    readBacklog(view.reads, name),
  ]);
  const verdict = queueState(queue, view.now);
  return c.html(
    <Page
      view={view}
      title={name}
      current="queues"
      aside={<QueuePill verdict={verdict} />}
      lead={<Lead view={view} queue={queue} records={records} />}
    >
      <QueueFigures view={view} queue={queue} />
      {queue.relayedTo === null ? null : await relayedLine(view, name, queue.relayedTo)}
      <div class="two">
        <div>
          {queue.concurrency === null ? null : <Slots view={view} queue={queue} />}
          <h2>
            Blocked by other limits{' '}
            <small>runs that wait for a slot under a limit of their job or definition</small>
          </h2>
          <BlockingKeys view={view} keys={keys} />
          <h2>What was done</h2>
          {records.length === 0 ? (
            <Empty title="No pause or change of limits is on record" />
          ) : (
            <Sheet>
              <AuditList view={view} records={records} />
              <p>
                <a href={view.link('/audit', { target: name, action: 'queues' })}>All of it</a>
              </p>
            </Sheet>
          )}
        </div>
        <div>
          <Pausing view={view} queue={queue} backlog={backlog} />
          <Limits view={view} queue={queue} backlog={backlog} refused={refused} />
        </div>
      </div>
    </Page>,
  );
}

/** Whether a relay is at work, and what became of what it has handed off. */
async function relayedLine(view: View, name: string, relayedTo: string) {
  const [isAtWork, [figures]] = await Promise.all([
    isQueueNamed(view.reads, name),
    readQueueHandOffs(view.reads, [name]),
  ]);
  const text = relayedText(name, relayedTo, isAtWork);
  return (
    <p class={isAtWork ? 'note' : 'bad'}>
      {text.charAt(0).toUpperCase()}
      {text.slice(1)}.{figures === undefined ? null : ` In the last 24 hours ${handOffsText(figures)}.`}
    </p>
  );
}

function nothing(name: string): QueueLoad {
  return {
    name,
    concurrency: null,
    rate: null,
    window: null,
    timezone: 'UTC',
    pausedAt: null,
    pauseReason: null,
    relayedTo: null,
    waiting: 0,
    running: 0,
    later: 0,
    blocked: 0,
    isCapped: false,
    oldestAt: null,
    held: 0,
    holders: [],
    rateNextAt: null,
  };
}
