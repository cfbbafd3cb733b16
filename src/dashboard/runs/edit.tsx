// A form that gives a run another payload.
import type { Context } from 'hono';
import { getRun, readPayloadText } from '../../answers/runs/lists.js';
import { TockError } from '../../model/errors.js';
import { inexactNumber } from '../../model/job/payload/exact-numbers.js';
import { readJson } from '../../model/job/payload/json-text.js';
import { quote } from '../../model/names.js';
import { includesRole } from '../../model/operator.js';
import type { RunRecord } from '../../model/run/run-record.js';
import { isFinished, RUN_STATUSES, TRANSITIONS } from '../../model/run/states.js';
import { flash } from '../flash.js';
import { Page } from '../layout/page.js';
import { Sheet, StatusPill } from '../layout/parts.js';
import { plainLine } from '../layout/plain-text.js';
import { readRunId, readShown } from '../query.js';
import type { App, View } from '../view.js';

type Handler = Context<{ Variables: { view: View } }>;

/** Whether this person can edit the run from this page, whose code must have the job. */
export function isEditable({ tock, user }: View, { status, trigger, job }: RunRecord): boolean {
  const from: readonly string[] = [...TRANSITIONS.cancel.from, ...TRANSITIONS.retry.from];
  const may = includesRole(user.role, 'operate') && user.seesPayloads;
  return may && trigger !== 'exec' && from.includes(status) && tock.jobs.has(job);
}

export function addEditPage(app: App): void {
  app.get('/runs/:id/edit', async c => await showForm(c, null));
  app.post('/runs/:id/edit', async c => {
    const view = c.get('view');
    const id = readRunId(c.req.param('id'));
    const { payload: text = '', fence, status } = await c.req.parseBody();
    const read = RUN_STATUSES.find(each => each === status);
    if (typeof text !== 'string' || read === undefined)
      throw new TockError('TOCK_BAD_OPTION', 'the form has a payload and a status, as text');
    try {
      const run = await view.tock.runs.edit(id, {
        payload: readJson(text, 'the payload'),
        fence: readShown(fence, 'fence of the run'),
        status: read,
      });
      flash(c, `Run ${id} has another payload, and is ${run.status}.`);
      return c.redirect(view.link(`/runs/${id}`), 303);
    } catch (error) {
      if (!(error instanceof TockError) || error.code !== 'TOCK_BAD_PAYLOAD') throw error;
      c.status(400);
      return await showForm(c, { text, message: error.message });
    }
  });
}

async function showForm(c: Handler, refused: { readonly text: string; readonly message: string } | null) {
  const view = c.get('view');
  const id = readRunId(c.req.param('id') ?? '');
  const run = await getRun(view.reads, id);
  if (run === null)
    throw new TockError(
      'TOCK_NOT_FOUND',
      `there is no run ${id}; it may have been pruned, as your retention says`,
    );
  if (!isEditable(view, run))
    throw new TockError(
      'TOCK_BAD_STATE',
      `run ${id} is ${run.status}, and cannot be edited here: a run can that waits, is dead or cancelled, whose job ${quote(run.job)} is in the code of this dashboard, by an operator who may see payloads`,
    );
  const text = refused?.text ?? pretty((await readPayloadText(view.reads, id)) ?? '{}');
  const isRetried = isFinished(run.status);
  return c.html(
    <Page
      view={view}
      title={`Edit run ${id} of ${plainLine(run.definition ?? run.job, 120)}`}
      current="runs"
      aside={<StatusPill status={run.status} />}
      lead={
        isRetried
          ? `It is ${run.status}: with another payload it is retried at once, with its attempts anew.`
          : 'It waits, and goes on waiting, with another payload.'
      }
    >
      <Sheet>
        <form method="post" action={view.link(`/runs/${id}/edit`)} class="schedule-form run-form">
          {refused === null ? null : (
            <p class="refused" role="alert">
              {refused.message}
            </p>
          )}
          <input type="hidden" name="fence" value={String(run.fence)} />
          <input type="hidden" name="status" value={run.status} />
          <label class="entry wide">
            Payload, as JSON
            <textarea
              name="payload"
              rows={Math.min(24, Math.max(4, text.split('\n').length + 1))}
              class="mono"
              spellcheck={false}
            >
              {text}
            </textarea>
          </label>
          <div class="buttons">
            <button class="main">{isRetried ? 'Save and retry' : 'Save'}</button>
            <a class="button" href={view.link(`/runs/${id}`)}>
              Leave it as it is
            </a>
          </div>
        </form>
      </Sheet>
    </Page>,
  );
}

/** Indented, unless a number would lose digits. */
const pretty = (text: string) =>
  inexactNumber(text) === null ? JSON.stringify(JSON.parse(text), null, 2) : text;
