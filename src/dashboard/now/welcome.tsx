// The page Now of a scheduler that has nothing to show yet: what a newcomer does next.
import { Empty } from '../layout/parts.js';
import { relativeText } from '../layout/text.js';
import type { View } from '../view.js';
import type { NowContent } from './read-now.js';

const EXAMPLE = `import { defineJob } from 'pg-tock';

export default defineJob({
  name: 'hello',
  schedule: { every: '1m' },
  run: ctx => ctx.log.info({ event: 'hello' }, 'hello'),
});`;

export function NoJobs() {
  return (
    <Empty title="There is no job yet">
      <p>
        A job is a file with a name and a function. Write this as <code>jobs/hello.ts</code>, add it to the
        array in <code>jobs/index.ts</code>, and start the scheduler again:
      </p>
      <pre>
        <code>{EXAMPLE}</code>
      </pre>
      <p>Its first run appears here within a minute.</p>
    </Empty>
  );
}

/** There are schedules, and nothing has run. */
export function FirstRun({ view, coming }: { readonly view: View; readonly coming: NowContent['coming'] }) {
  const [next] = coming;
  if (next === undefined) {
    return (
      <Empty title="Nothing has run yet">
        <p>
          Nothing runs by itself yet. <code>tock run &lt;job&gt;</code> makes a run by hand; it appears here
          at once.
        </p>
      </Empty>
    );
  }
  return (
    <Empty title={`The first run is due ${next.at <= view.now ? 'now' : relativeText(next.at, view.now)}`}>
      <p>
        It is <b>{next.first.name}</b>. This page shows it by itself, as soon as a tick or{' '}
        <code>tock start</code> has executed it.
      </p>
    </Empty>
  );
}
