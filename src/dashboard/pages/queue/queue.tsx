// One queue: its state, which runs hold its slots, what was done to it; pause, resume and limits.

import type { Context } from 'hono';
import { listAudit } from '../../../answers/audit.js';
import { readQueueFlow } from '../../../answers/queue-flow.js';
import {
  isQueueNamed,
  type QueueLoad,
  readBacklog,
  readBlockingKeys,
  readBusyKeys,
  readKeysIn,
  readQueueHandOffs,
  readQueueLoad,
  readQueueNames,
} from '../../../answers/queues.js';
import { TockError } from '../../../model/errors.js';
import { isMoving } from '../../../model/explain/queue-flow.js';
import { parseRate, queueState } from '../../../model/explain/queue-state.js';
import { handOffsText, needsRelay, relayedText } from '../../../model/explain/relayed.js';
import { isStorable, quote } from '../../../model/names.js';
import { nearMisses } from '../../../model/nearest.js';
import type { QueueLimits } from '../../../model/queue/queue-limits.js';
import { flash } from '../../flash.js';
import { Page } from '../../layout/page.js';
import { Empty, Sheet } from '../../layout/parts.js';
import { readPause } from '../../layout/pause-fields.js';
import { shortTime } from '../../layout/text.js';
import type { App, View } from '../../view.js';
import { AuditList, QueueLink, Warning } from '../operate-parts.js';
import { Flow } from './queue-flow.js';
import { type Entered, LIMITS, type Limit, Limits, Pausing, type Refused } from './queue-forms.js';
import { Keys } from './queue-keys.js';
import { BlockingKeys, QueuePill } from './queue-parts.js';
import { askToResume, resumeQueue } from './queue-resume.js';
import { Lead, QueueFigures, Slots } from './queue-state-parts.js';

type Handler = Context<{ Variables: { view: View } }>;

export function addQueuePage(app: App): void {
  app.get('/queues/:name', async c => await showQueue(c, null));
  app.post('/queues/:name/pause', async c => {
    const name = nameOf(c);
    const view = c.get('view');
    const { pausedUntil } = await view.tock.queues.pause(name, readPause(await c.req.parseBody(), view));
    const end = pausedUntil === null ? 'it is resumed' : shortTime(pausedUntil, view.zone, view.now);
    return done(c, name, `${name} is paused: none of its runs starts until ${end}.`);
  });
  app.get('/queues/:name/resume', async c => await askToResume(c, nameOf(c)));
  app.post('/queues/:name/resume', async c => await resumeQueue(c, nameOf(c)));
  app.post('/queues/:name/open-key', async c => {
    const name = nameOf(c);
    const { key: given } = await c.req.parseBody();
    const key = typeof given === 'string' ? given : '';
    const isOpened = await c.get('view').tock.keys.open(key);
    return done(c, name, isOpened ? `Key ${key} is open again: its runs start.` : `Key ${key} was open.`);
  });
  app.post('/queues/:name/remove', async c => {
    const name = nameOf(c);
    const isRemoved = await c.get('view').tock.queues.remove(name);
    return done(
      c,
      name,
      isRemoved ? `${name} has no limits and no pause any more.` : `${name} had no limits and no pause.`,
    );
  });
  app.post('/queues/:name/reset', async c => {
    const name = nameOf(c);
    await c.get('view').tock.queues.reset(name);
    return done(c, name, `${name} is as its code states again. It applies from the next claim on.`);
  });
  app.post('/queues/:name/limits', async c => {
    const name = nameOf(c);
    const body = await c.req.parseBody();
    const text = (field: string) => (typeof body[field] === 'string' ? body[field].trim() : '');
    const entered = Object.fromEntries(LIMITS.map(limit => [limit, text(limit)])) as Entered;
    const was = Object.fromEntries(LIMITS.map(limit => [limit, text(`was-${limit}`)])) as Entered;
    // As on the command line, +2h is in two hours.
    const until = text('until').replace(/^\+/, '');
    try {
      const limits = readLimits(
        LIMITS.filter(limit => entered[limit] !== was[limit]),
        entered,
      );
      if (Object.keys(limits).length === 0 && until === '')
        return done(c, name, `The limits of ${name} are as they were.`);
      await c.get('view').tock.queues.set(name, { ...limits, ...(until === '' ? {} : { until }) });
    } catch (error) {
      if (!(error instanceof TockError) || !error.code.startsWith('TOCK_BAD_')) throw error;
      c.status(400);
      return await showQueue(c, { entered, was, until, message: error.message });
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
  const asked = c.req.query('key')?.trim() ?? '';
  const [[queue = nothing(name)], keys, records, backlog, busiest, found] = await Promise.all([
    readQueueLoad(view.reads, { name }),
    readBlockingKeys(view.reads, { queue: name }),
    listAudit(view.reads, { action: 'queues', target: name, limit: RECENT }),
    readBacklog(view.reads, name),
    asked === '' ? readBusyKeys(view.reads, name) : [],
    readKeysIn(view.reads, name, asked === '' ? [] : [asked]),
  ]);
  const verdict = queueState(queue, view.now);
  const flow = await readQueueFlow(view.reads, queue, { now: view.now });
  const names = await readQueueNames(view.reads);
  const isUnknown = !names.includes(name);
  return c.html(
    <Page
      view={view}
      title={name}
      current="queues"
      aside={<QueuePill verdict={verdict} />}
      lead={<Lead view={view} queue={queue} records={records} />}
    >
      {isUnknown ? <Unknown view={view} near={nearMisses(name, names)} /> : null}
      <QueueFigures view={view} queue={queue} />
      {queue.relayedTo === null ? null : await relayedLine(view, name, queue.relayedTo)}
      <div class="two">
        <div>
          {flow === null ? null : <Flow view={view} flow={flow} moves={isMoving(verdict)} />}
          {busiest.length === 0 && asked === '' ? null : (
            <Keys
              view={view}
              queue={name}
              busiest={busiest}
              named={asked === '' ? null : { key: asked, found }}
            />
          )}
          {queue.concurrency === null ? null : <Slots view={view} queue={queue} />}
          <h2>
            Blocked by other limits{' '}
            <small>runs that wait for a slot under a limit of their job or schedule</small>
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
          <Pausing view={view} queue={queue} backlog={backlog} isUnknown={isUnknown} />
          <Limits view={view} queue={queue} backlog={backlog} refused={refused} />
        </div>
      </div>
    </Page>,
  );
}

/** For a name that may be misspelt. */
function Unknown({ view, near }: { readonly view: View; readonly near: readonly string[] }) {
  return (
    <Warning title="Nothing names this queue: no live run, no schedule, no limit">
      {near.length === 0 ? 'What is done here applies to runs that name it later.' : 'Did you mean '}
      {near.map((name, index) => (
        <>
          {index === 0 ? '' : ' or '}
          <QueueLink view={view} name={name} />
        </>
      ))}
      {near.length === 0 ? '' : '?'}
    </Warning>
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
    <p class={isAtWork || !needsRelay(relayedTo) ? 'note' : 'bad'}>
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
    pausedUntil: null,
    pauseReason: null,
    closedUntil: null,
    fair: null,
    relayedTo: null,
    inCode: null,
    overrides: {},
    waiting: 0,
    running: 0,
    later: 0,
    blocked: 0,
    claimers: 0,
    isCapped: false,
    oldestAt: null,
    held: 0,
    holders: [],
    rateNextAt: null,
  };
}
