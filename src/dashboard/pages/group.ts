// What is done to a whole group: the buttons of the page of its join.
import { flash } from '../flash.js';
import { readRunId } from '../query.js';
import type { App } from '../view.js';

const runs = (count: number) => `${count.toLocaleString('en')} run${count === 1 ? '' : 's'}`;

export function addGroupActions(app: App): void {
  app.post('/groups/:id/continue', async c => {
    const view = c.get('view');
    const id = readRunId(c.req.param('id'));
    const isContinued = await view.tock.continueGroup(id);
    flash(
      c,
      isContinued
        ? `Group ${id} waits only for the ends of its runs now.`
        : `The join of group ${id} waits no longer; nothing was changed.`,
    );
    return c.redirect(view.link(`/runs/${id}`), 303);
  });
  app.post('/groups/:id/retry', async c => {
    const view = c.get('view');
    const id = readRunId(c.req.param('id'));
    const { done, failed } = await view.tock.retryGroup(id);
    const [first] = failed;
    flash(
      c,
      `${runs(done)} of group ${id} wait again.${first ? ` ${runs(failed.length)} could not be retried, such as ${first.id}: ${first.message}.` : ''}`,
      first ? 'bad' : 'ok',
    );
    return c.redirect(view.link(`/runs/${id}`), 303);
  });
  app.post('/groups/:id/cancel', async c => {
    const view = c.get('view');
    const id = readRunId(c.req.param('id'));
    const { done, asked } = await view.tock.cancelGroup(id);
    flash(
      c,
      `${runs(done)} of group ${id} ${done === 1 ? 'is' : 'are'} cancelled${asked > 0 ? `, and ${runs(asked)} asked to stop` : ''}.`,
    );
    return c.redirect(view.link(`/runs/${id}`), 303);
  });
}
