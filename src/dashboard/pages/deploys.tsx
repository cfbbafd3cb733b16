// Deploys: which version of the app came when, what was executed in it; and marking one.
import { listDeploys } from '../../answers/deploys.js';
import type { DeployRecord } from '../../model/deploys/deploys.js';
import { TockError } from '../../model/errors.js';
import { includesRole } from '../../model/operator.js';
import { flash } from '../flash.js';
import { Page } from '../layout/page.js';
import { Empty, Sheet, Time } from '../layout/parts.js';
import { plainLine } from '../layout/plain-text.js';
import type { App, View } from '../view.js';

const SHOWN = 200;

export function addDeploysPage(app: App): void {
  app.get('/deploys', async c => {
    const view = c.get('view');
    const deploys = await listDeploys(view.reads, { limit: SHOWN });
    return c.html(
      <Page
        view={view}
        title="Deploys"
        current="errors"
        lead="Versions of the app: those that workers name, and those that were marked. Charts show each as a line."
      >
        {deploys.length === 0 ? <None /> : <Table view={view} deploys={deploys} />}
        <MarkForm view={view} />
      </Page>,
    );
  });
  app.post('/deploys/mark', async c => {
    const view = c.get('view');
    const body = await c.req.parseBody();
    const text = (name: string) => (typeof body[name] === 'string' ? body[name].trim() : '');
    const note = text('note');
    try {
      const { name } = await view.tock.deploys.mark(text('name'), note === '' ? {} : { note });
      flash(c, `Deploy ${name} is marked.`);
    } catch (error) {
      if (!(error instanceof TockError) || error.code !== 'TOCK_BAD_OPTION') throw error;
      flash(c, error.message, 'bad');
    }
    return c.redirect(view.link('/deploys'), 303);
  });
}

function None() {
  return (
    <Empty title="No deploy is known">
      <p>
        Set <code>TOCK_DEPLOY</code> where workers run, such as to a version or a commit: each attempt then
        says in which deploy it was executed. Or mark one, as the last step of a deployment:{' '}
        <code>tock deploy mark v42</code>.
      </p>
    </Empty>
  );
}

function Table({ view, deploys }: { readonly view: View; readonly deploys: readonly DeployRecord[] }) {
  return (
    <Sheet flush>
      <table class="deploys">
        <thead>
          <tr>
            <th>Deploy</th>
            <th>When</th>
            <th>First worker</th>
            <th>Marked</th>
            <th>Its runs</th>
          </tr>
        </thead>
        <tbody>
          {deploys.map(({ name, at, firstSeenAt, markedAt, markedBy, note }) => (
            <tr>
              <td>
                <b>{plainLine(name, 100)}</b>
                {note === null ? null : <span class="sub">{plainLine(note, 300)}</span>}
              </td>
              <td>
                <Time view={view} at={at} />
                <span class="sub">
                  <Time view={view} at={at} relative />
                </span>
              </td>
              <td>
                {firstSeenAt === null ? (
                  <span class="faint">none seen</span>
                ) : (
                  <Time view={view} at={firstSeenAt} relative />
                )}
              </td>
              <td>
                {markedAt === null ? <span class="faint">–</span> : `by ${plainLine(markedBy ?? '', 60)}`}
              </td>
              <td>
                <a href={view.link('/runs', { deploy: name, from: at.toISOString() })}>all</a>,{' '}
                <a href={view.link('/runs', { deploy: name, status: 'dead,failed' })}>failed</a>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Sheet>
  );
}

function MarkForm({ view }: { readonly view: View }) {
  if (!includesRole(view.user.role, 'operate')) return null;
  return (
    <>
      <h2>Mark a deploy</h2>
      <form method="post" action={view.link('/deploys/mark')} class="filter">
        <div class="fields">
          <label class="field">
            <span>Name</span>
            <input type="text" name="name" required maxlength={100} placeholder="v42" autocomplete="off" />
          </label>
          <label class="field">
            <span>Note</span>
            <input type="text" name="note" maxlength={500} placeholder="new mailer" autocomplete="off" />
          </label>
          <button class="main">Mark it now</button>
        </div>
      </form>
    </>
  );
}
