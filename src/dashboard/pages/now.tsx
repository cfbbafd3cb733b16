// Now: what the scheduler does at this moment, and what needs somebody.
import { findProblems } from '../../model/problems.js';
import { Page } from '../layout/page.js';
import { Empty } from '../layout/parts.js';
import { numberText } from '../layout/text.js';
import type { App } from '../view.js';

export function addNowPage(app: App): void {
  app.get('/', async c => {
    const view = c.get('view');
    const status = await view.tock.status();
    const problems = findProblems(status);
    return c.html(
      <Page view={view} title="Now" current="now" live={5}>
        {problems.length === 0 ? <Empty title="Nothing is wrong" /> : null}
        {problems.map(({ message }) => (
          <p class="health">{message}</p>
        ))}
        <dl class="figures">
          <div>
            <dt>Waiting</dt>
            <dd>{numberText(status.runs.waiting)}</dd>
          </div>
          <div>
            <dt>Running</dt>
            <dd>{numberText(status.runs.running)}</dd>
          </div>
        </dl>
      </Page>,
    );
  });
}
