// One run: what happens with it now, its whole life, and what can be done to it.

import type { Context } from 'hono';
import { readHoldingQueue } from '../../answers/queues.js';
import { getRun, pendingText, readPayloadText, readPendingRun } from '../../answers/runs/lists.js';
import { type ReadRun, readRun } from '../../answers/runs/read-run.js';
import { TockError } from '../../model/errors.js';
import { inexactNumber } from '../../model/job/payload/exact-numbers.js';
import { receiverText } from '../../model/run/hand-off-record.js';
import type { RunRecord } from '../../model/run/run-record.js';
import { isFinished, TRANSITIONS } from '../../model/run/states.js';
import { flash } from '../flash.js';
import { Page } from '../layout/page.js';
import { ActionForm, type Question, StatusPill } from '../layout/parts.js';
import { plainLine } from '../layout/plain-text.js';
import { shortTime } from '../layout/text.js';
import { type LifeMark, RunLifePicture } from '../pictures/run-life.js';
import { readRunId, readShown } from '../query.js';
import { isEditable } from '../runs/edit.js';
import { FlowSection } from '../runs/flow.js';
import { GroupActions, GroupSection } from '../runs/group.js';
import { Documents, Related, RunFacts } from '../runs/run-facts.js';
import { Story } from '../runs/story.js';
import type { App, View } from '../view.js';

export function addRunPage(app: App): void {
  app.get('/runs/:id', async c => {
    const view = c.get('view');
    const id = readRunId(c.req.param('id'));
    const read = await readRun(view.reads, id, { now: view.now, seesPayloads: view.user.seesPayloads });
    if (read === null) throw await notFound(view, id);
    return c.html(<RunPage view={view} read={read} />);
  });
  app.post('/runs/:id/retry', async c => {
    const view = c.get('view');
    const run = await view.tock.runs.retry(readRunId(c.req.param('id')));
    const queue = await readHoldingQueue(view.reads, run.queue);
    const paused =
      (queue?.pausedAt ?? null) === null
        ? ''
        : ` Its queue ${run.queue} is paused: it starts when that is resumed.`;
    flash(
      c,
      `Run ${run.id} is waiting again: attempt ${run.attempts + 1} of ${run.maxAttempts} is due now.${paused}`,
      paused === '' ? 'ok' : 'bad',
    );
    return c.redirect(view.link(`/runs/${run.id}`), 303);
  });
  app.post('/runs/:id/cancel', async c => {
    const view = c.get('view');
    const run = await view.tock.runs.cancel(readRunId(c.req.param('id')));
    const isAsked = run.status === 'running' && run.handOff === null;
    flash(c, isAsked ? `The handler of run ${run.id} was asked to stop.` : `Run ${run.id} is cancelled.`);
    return c.redirect(view.link(`/runs/${run.id}`), 303);
  });
  app.post('/runs/:id/complete', async c => {
    const view = c.get('view');
    const id = readRunId(c.req.param('id'));
    const fence = await readFence(c);
    requireHeld(await view.tock.complete(id, fence, null), id);
    flash(c, `Run ${id} is completed; the next tick writes it.`);
    return c.redirect(view.link(`/runs/${id}`), 303);
  });
  app.post('/runs/:id/fail', async c => {
    const view = c.get('view');
    const id = readRunId(c.req.param('id'));
    const fence = await readFence(c);
    const reason = `${view.user.name} has made it fail`;
    requireHeld(await view.tock.fail(id, fence, reason, { retry: false }), id);
    flash(c, `Run ${id} has failed for good; the next tick writes it.`);
    return c.redirect(view.link(`/runs/${id}`), 303);
  });
  app.post('/runs/:id/again', async c => {
    const view = c.get('view');
    const id = await runAgain(view, readRunId(c.req.param('id')));
    flash(c, `Run ${id} was enqueued, with the payload of run ${c.req.param('id')}.`);
    return c.redirect(view.link(`/runs/${id}`), 303);
  });
}

/** The fence is that of the page: what was handed off again since is another matter. */
async function readFence(c: Context): Promise<number> {
  const { fence } = await c.req.parseBody();
  return readShown(fence, 'fence of the run');
}

function requireHeld(isHeld: boolean, id: string): void {
  if (isHeld) return;
  throw new TockError(
    'TOCK_BAD_STATE',
    `run ${id} is not handed off any more, or not under this fence; nothing was changed: look at its page again`,
  );
}

async function notFound(view: View, id: string): Promise<TockError> {
  const pending = await readPendingRun(view.reads, id);
  return new TockError(
    'TOCK_NOT_FOUND',
    pending === null
      ? `there is no run ${id}; it may have been pruned, as your retention says`
      : pendingText(pending),
  );
}

/** Enqueues the same job with the same payload. The key is not used again: it stands for the first run. */
async function runAgain(view: View, id: string): Promise<string> {
  const run = await getRun(view.reads, id);
  if (run === null) throw await notFound(view, id);
  const text = (await readPayloadText(view.reads, id)) ?? '{}';
  const inexact = inexactNumber(text);
  if (inexact !== null)
    throw new TockError(
      'TOCK_BAD_PAYLOAD',
      `the payload of run ${id} holds the number ${inexact}, which would lose digits on the way; enqueue it by SQL: select tock.enqueue(…)`,
    );
  const { queue, priority } = run;
  return await view.tock.enqueue(run.job, JSON.parse(text), { queue, priority, trigger: 'manual' });
}

function RunPage({ view, read }: { readonly view: View; readonly read: ReadRun }) {
  const { run, life } = read;
  const name = plainLine(run.definition ?? run.job, 120);
  const isLive = !isFinished(run.status);
  const clock = (at: number) => shortTime(new Date(at), view.zone, view.now);
  return (
    <Page
      view={view}
      title={`Run ${run.id} of ${name}`}
      current="runs"
      aside={<StatusPill status={run.status} />}
      {...(isLive ? { live: run.status === 'running' ? 2 : 5 } : {})}
    >
      <Now view={view} read={read} />
      <Progress run={run} />
      {life.phases.length === 0 ? null : (
        <RunLifePicture
          life={life}
          status={run.status}
          marks={marksOf(read)}
          waitsFor={read.now.waitsFor}
          clock={clock}
        />
      )}
      {read.flow === null ? null : <FlowSection view={view} flow={read.flow} current={run.id} />}
      {read.group === null || read.flow !== null ? null : <GroupSection view={view} drawn={read.group} />}
      <div class="two">
        <div>
          <h2>What happened</h2>
          <Story view={view} read={read} />
          <Documents read={read} />
        </div>
        <div>
          <h2>On record</h2>
          <RunFacts view={view} read={read} />
          <Related view={view} read={read} />
        </div>
      </div>
    </Page>
  );
}

function Now({ view, read: { run, now, group } }: { readonly view: View; readonly read: ReadRun }) {
  return (
    <section class={`run-now ${now.tone}`} aria-label="Now">
      <p>
        <b>{plainLine(now.sentence, 600)}</b>
        {now.remedy === null ? null : <span class="muted"> {now.remedy}</span>}
      </p>
      <div class="actions">
        {group === null ? null : <GroupActions view={view} drawn={group} />}
        <Actions view={view} run={run} />
      </div>
    </section>
  );
}

function Actions({ view, run }: { readonly view: View; readonly run: RunRecord }) {
  const { id, status, fence, handOff } = run;
  const canRetry = run.trigger !== 'exec' && TRANSITIONS.retry.from.some(from => from === status);
  return (
    <>
      {canRetry ? (
        <ActionForm view={view} action={`/runs/${id}/retry`} label="Retry" main needs="operate" />
      ) : null}
      {isEditable(view, run) ? (
        <a class="button" href={view.link(`/runs/${id}/edit`)}>
          Edit payload
        </a>
      ) : null}
      {handOff !== null && handOff.decision === null && run.cancelRequestedAt === null ? (
        <>
          <ActionForm
            view={view}
            action={`/runs/${id}/complete`}
            label="Complete"
            confirm={{
              verb: `Complete run ${id}`,
              keep: 'Leave it handed off',
              text: `This completes run ${id}, which is handed off${receiverText(handOff)}: it has succeeded.`,
            }}
            fields={{ fence }}
            main
            needs="operate"
          />
          <ActionForm
            view={view}
            action={`/runs/${id}/fail`}
            label="Fail"
            confirm={{
              verb: `Fail run ${id}`,
              keep: 'Leave it handed off',
              text: `This makes run ${id} fail, which is handed off${receiverText(handOff)}: it is dead, without a retry.`,
            }}
            fields={{ fence }}
            needs="operate"
          />
        </>
      ) : null}
      {!isFinished(status) && run.cancelRequestedAt === null ? (
        <ActionForm
          view={view}
          action={`/runs/${id}/cancel`}
          label={status === 'running' && handOff === null ? 'Stop' : 'Cancel'}
          confirm={cancelQuestion(run)}
          needs="operate"
        />
      ) : null}
      {isFinished(status) && view.tock.jobs.has(run.job) ? (
        <ActionForm
          view={view}
          action={`/runs/${id}/again`}
          label="Run again with this payload"
          confirm={{
            verb: `Run ${run.job} again`,
            keep: 'Do not run it',
            text: `This enqueues a new run of ${run.job} with the payload of run ${id}, due now.`,
          }}
          needs="operate"
        />
      ) : null}
    </>
  );
}

function cancelQuestion({ id, status, handOff }: RunRecord): Question {
  if (handOff !== null)
    return {
      verb: `Cancel run ${id}`,
      keep: 'Leave it handed off',
      text: `This cancels run ${id}, which is handed off${receiverText(handOff)}. What completes it then comes too late.`,
    };
  if (status === 'running')
    return {
      verb: `Stop run ${id}`,
      keep: 'Keep it running',
      text: `This asks the handler of run ${id} to stop. When it has stopped, the run is cancelled.`,
    };
  return {
    verb: `Cancel run ${id}`,
    keep: 'Keep it waiting',
    text: `This cancels run ${id}, which waits. It can be retried.`,
  };
}

function Progress({ run: { status, progress } }: { readonly run: RunRecord }) {
  if (status !== 'running' || progress === null) return null;
  const { fraction, stage, events } = progress;
  const percent = Math.floor(Math.min(Math.max(fraction, 0), 1) * 100);
  return (
    <div class="run-progress">
      <progress max="100" value={percent} aria-label="progress" />
      <span>
        <b>{percent}%</b>
        {stage === null ? '' : ` ${plainLine(stage, 160)}`}
        {events > 1 ? <span class="faint"> · {events} reports</span> : null}
      </span>
    </div>
  );
}

function marksOf({ run, effects }: ReadRun): readonly LifeMark[] {
  return [
    ...effects.map(({ kind, name, at }) => ({
      kind: 'effect' as const,
      at: at.getTime(),
      label: `${kind} ${plainLine(name, 120)}`,
    })),
    ...(run.cancelRequestedAt === null
      ? []
      : [{ kind: 'cancel' as const, at: run.cancelRequestedAt.getTime(), label: 'asked to stop' }]),
  ];
}
