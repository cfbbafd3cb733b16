// The page that asks before an action. A form posts here what it would do; this page posts it there.
import { TockError } from '../../model/errors.js';
import { Page } from '../layout/page.js';
import { Hidden } from '../layout/parts.js';
import type { App } from '../view.js';

const OWN = /^confirm-/;
/** A path under the base path, never another host. */
const PATH = /^\/(?!\/)[^\\\s]*$/;

/** Reached by POST only, so that no link from elsewhere can put words on it. */
export function addConfirmPage(app: App): void {
  app.post('/confirm', async c => {
    const view = c.get('view');
    const body = await c.req.parseBody({ all: true });
    const text = (name: string) => {
      const value = body[`confirm-${name}`];
      return typeof value === 'string' ? value : '';
    };
    const [action, verb, keep, question] = [text('action'), text('verb'), text('keep'), text('text')];
    const back = text('back');
    if (!PATH.test(action) || [verb, keep, question].includes(''))
      throw new TockError('TOCK_BAD_OPTION', 'this question is not complete; press the button once more');
    const fields = Object.entries(body).flatMap(([name, value]) =>
      OWN.test(name) ? [] : [value].flat().map(each => [name, typeof each === 'string' ? each : ''] as const),
    );
    return c.html(
      <Page view={view} title={`${verb}?`} current={null}>
        <p class="lead">{question}</p>
        <div class="actions question">
          <form method="post" action={view.link(action)} class="action">
            {fields.map(([name, value]) => (
              <Hidden fields={{ [name]: value }} />
            ))}
            <button class="main">{verb}</button>
          </form>
          <a class="button" href={PATH.test(back) ? back : view.link('/')}>
            {keep}
          </a>
        </div>
      </Page>,
    );
  });
}
