// One job: its week beside the one before, its schedules, latest runs and errors; and a run by hand.
import type { Context } from 'hono';
import { type ReadJob, readJob } from '../../answers/runs/read-job.js';
import { TockError } from '../../model/errors.js';
import { isName, quote } from '../../model/names.js';
import { includesRole } from '../../model/operator.js';
import { definitionWords } from '../../model/planning/schedule-words.js';
import { flash } from '../flash.js';
import { JobFiguresSection } from '../jobs/job-figures.js';
import { type Entered, jobNamed, payloadEntered, RunForm } from '../jobs/run-form.js';
import { Page } from '../layout/page.js';
import { Empty, Sheet, Time } from '../layout/parts.js';
import { plainLine } from '../layout/plain-text.js';
import { RunTable } from '../runs/run-table.js';
import type { App, View } from '../view.js';

const SECONDS = 15;

type Handler = Context<{ Variables: { view: View } }>;

export function addJobPage(app: App): void {
  app.get('/jobs/:name', async c => await showJob(c, null));
  app.post('/jobs/:name/run', async c => {
    const [view, name] = [c.get('view'), nameOf(c)];
    const body = await c.req.parseBody();
    const entered: Entered = field => {
      const value = body[field];
      return typeof value === 'string' ? value : '';
    };
    try {
      const job = jobNamed(view, name);
      const id = await view.tock.enqueue(job, payloadEntered(job, entered), { trigger: 'manual' });
      flash(c, `Run ${id} of ${name} is queued.`);
      return c.redirect(view.link(`/runs/${id}`), 303);
    } catch (error) {
      if (!(error instanceof TockError) || error.code !== 'TOCK_BAD_PAYLOAD') throw error;
      c.status(400);
      return await showJob(c, { entered, message: error.message });
    }
  });
}

/** @throws TockError TOCK_NOT_FOUND */
function nameOf(c: Handler): string {
  const name = c.req.param('name') ?? '';
  if (isName(name)) return name;
  throw new TockError('TOCK_NOT_FOUND', `there is no job ${quote(name)}`);
}

async function showJob(c: Handler, refused: { readonly entered: Entered; readonly message: string } | null) {
  const view = c.get('view');
  const name = nameOf(c);
  const read = await readJob(view.reads, name, view.now);
  const job = view.tock.jobs.get(name);
  if (job === undefined && read.definitions.length === 0 && read.runs.length === 0)
    throw new TockError(
      'TOCK_NOT_FOUND',
      `there is no job ${quote(name)}, neither in code nor in the database`,
    );
  const lead =
    job?.description ?? (job === undefined ? 'The code of this dashboard does not have this job.' : '');
  return c.html(
    <Page
      view={view}
      title={name}
      current="runs"
      {...(lead === '' ? {} : { lead })}
      {...(refused === null ? { live: SECONDS } : {})}
    >
      <JobFiguresSection view={view} name={name} figures={read} />
      <div class="two with-runs">
        <div>
          <Latest view={view} name={name} read={read} />
        </div>
        <div>
          {(job !== undefined || isDefined(read, name)) && includesRole(view.user.role, 'operate') ? (
            <RunForm view={view} job={jobNamed(view, name)} refused={refused} />
          ) : null}
          <Schedules view={view} name={name} read={read} />
        </div>
      </div>
    </Page>,
  );
}

/** Other code has registered it, so that it can be enqueued. */
const isDefined = ({ definitions }: ReadJob, name: string) =>
  definitions.some(each => each.name === name && each.origin === 'code' && each.vanishedAt === null);

interface PartProps {
  readonly view: View;
  readonly name: string;
  readonly read: ReadJob;
}

function Latest({ view, name, read: { runs, failures } }: PartProps) {
  return (
    <>
      {failures.length === 0 ? null : (
        <>
          <h2>
            Latest errors{' '}
            <small>
              <a href={view.link('/runs', { job: name, status: 'failed,dead' })}>all</a>
            </small>
          </h2>
          <RunTable view={view} runs={failures} />
        </>
      )}
      <h2>
        Latest runs{' '}
        {runs.length === 0 ? null : (
          <small>
            <a href={view.link('/runs', { job: name })}>all</a>
          </small>
        )}
      </h2>
      {runs.length === 0 ? (
        <Empty title="It has no runs yet">
          <p>A run appears here when one of its schedules is due, or when it is enqueued.</p>
        </Empty>
      ) : (
        <RunTable view={view} runs={runs} />
      )}
    </>
  );
}

function Schedules({ view, name, read: { definitions, hasMoreDefinitions } }: PartProps) {
  if (definitions.length === 0) return null;
  return (
    <>
      <h2>Schedules</h2>
      <Sheet flush>
        <table>
          <tbody>
            {definitions.map(definition => (
              <tr>
                <td>
                  <a href={view.link(`/schedules/${encodeURIComponent(definition.name)}`)}>
                    {plainLine(definition.name, 120)}
                  </a>
                  <span class="sub">
                    {definition.pausedAt === null ? definitionWords(definition) || 'by hand only' : 'paused'}
                  </span>
                </td>
                <td class="n">
                  {definition.nextAt === null || definition.pausedAt !== null ? (
                    <span class="faint">–</span>
                  ) : (
                    <Time view={view} at={definition.nextAt} relative />
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </Sheet>
      {hasMoreDefinitions ? (
        <p class="more">
          <a href={view.link('/schedules', { job: name })}>All its schedules</a>
        </p>
      ) : null}
    </>
  );
}
