// Errors: what runs died of, or are failing with, by job and kind, over time; each with all that it concerns.
import { listDeploys } from '../../answers/deploys.js';
import { MAX_ERRORS_READ, type ReadErrors, readErrors } from '../../answers/runs/read-errors.js';
import type { DeployRecord } from '../../model/deploys/deploys.js';
import { formatSpan } from '../../model/duration.js';
import { TockError } from '../../model/errors.js';
import { quote } from '../../model/names.js';
import type { ErrorCount } from '../../model/run/errors/error-counts.js';
import { MAX_COUNTED } from '../../model/run/match/run-match.js';
import { Page } from '../layout/page.js';
import { Empty, Time } from '../layout/parts.js';
import { plainLine } from '../layout/plain-text.js';
import { numberText, shortTime } from '../layout/text.js';
import { MarkNames, marksOf } from '../pictures/deploy-marks.js';
import { Sparkline } from '../pictures/sparkline.js';
import type { App, View } from '../view.js';

const SPANS = {
  '1h': { ms: 3_600_000, words: 'hour' },
  '24h': { ms: 86_400_000, words: '24 hours' },
  '7d': { ms: 7 * 86_400_000, words: '7 days' },
  '30d': { ms: 30 * 86_400_000, words: '30 days' },
} as const;
type Span = keyof typeof SPANS;

const KINDS = {
  dead: { status: 'dead', word: 'dead', verb: () => 'died in', look: 'dead' },
  failing: {
    status: 'failed',
    word: 'retrying',
    verb: (count: number) => `${count === 1 ? 'waits' : 'wait'} for another attempt, after failing in`,
    look: 'retry',
  },
} as const;
type Kind = keyof typeof KINDS;

const PARTS = 48;
/** Groups that are listed; those beyond are the rarest. */
const MAX_GROUPS = 100;

interface Shown extends ReadErrors {
  readonly kind: Kind;
  readonly span: Span;
  /** The beginning of each part of the span, in epoch milliseconds. */
  readonly starts: readonly number[];
  /** Of the span, the latest first. */
  readonly deploys: readonly DeployRecord[];
}

export function addErrorsPage(app: App): void {
  app.get('/errors', async c => {
    const view = c.get('view');
    const kind = choice(c.req.query('of'), 'of', KINDS, 'dead');
    const span = choice(c.req.query('span'), 'span', SPANS, '24h');
    const { ms } = SPANS[span];
    const from = view.now.getTime() - ms;
    const found = await readErrors(view.reads, kind, { now: view.now, ms, parts: PARTS });
    const deploys = await listDeploys(view.reads, { from: new Date(from) });
    const starts = Array.from({ length: PARTS }, (_, part) => from + (part * ms) / PARTS);
    const shown = { kind, span, ...found, starts, deploys };
    return c.html(
      <Page view={view} title="Errors" current="errors" live={15}>
        <Choices view={view} kind={kind} span={span} />
        {found.errors.length === 0 ? <None kind={kind} span={span} /> : <Groups view={view} shown={shown} />}
      </Page>,
    );
  });
}

/** @throws TockError TOCK_BAD_OPTION, which is a page with status 400 */
function choice<Name extends string>(
  text: string | undefined,
  name: string,
  choices: Readonly<Record<Name, unknown>>,
  usual: Name,
): Name {
  if (text === undefined || text === '') return usual;
  if (Object.hasOwn(choices, text)) return text as Name;
  throw new TockError(
    'TOCK_BAD_OPTION',
    `${name} ${quote(text)} is not one of ${Object.keys(choices).join(', ')}`,
  );
}

function Choices({ view, kind, span }: { readonly view: View; readonly kind: Kind; readonly span: Span }) {
  const link = (of: Kind, within: Span) =>
    view.link('/errors', { of: of === 'dead' ? null : of, span: within === '24h' ? null : within });
  return (
    <div class="choices">
      <nav aria-label="Which runs">
        {(Object.keys(KINDS) as Kind[]).map(each => (
          <a
            href={link(each, span)}
            class={each === kind ? 'here' : ''}
            aria-current={each === kind ? 'true' : undefined}
          >
            {each === 'dead' ? 'Dead' : 'Retrying'}
          </a>
        ))}
      </nav>
      <nav aria-label="Since when">
        {(Object.keys(SPANS) as Span[]).map(each => (
          <a
            href={link(kind, each)}
            class={each === span ? 'here' : ''}
            aria-current={each === span ? 'true' : undefined}
          >
            {each}
          </a>
        ))}
      </nav>
    </div>
  );
}

function None({ kind, span }: { readonly kind: Kind; readonly span: Span }) {
  const words = SPANS[span].words;
  return kind === 'dead' ? (
    <Empty title={`No run has died in the last ${words}`}>
      <p>
        A run is dead when all its attempts have failed. It appears here by its error, with a button for all
        alike.
      </p>
    </Empty>
  ) : (
    <Empty title={`No run waits for another attempt after a failure in the last ${words}`}>
      <p>A run that fails is tried again by itself, as its job says. It appears here until it has ended.</p>
    </Empty>
  );
}

function Groups({ view, shown }: { readonly view: View; readonly shown: Shown }) {
  const { kind, span, errors, total, isCapped, starts, deploys } = shown;
  const from = starts[0] ?? 0;
  const { verb, look, word } = KINDS[kind];
  const jobs = new Set(errors.map(({ job }) => job)).size;
  const times = starts.map(at => shortTime(new Date(at), view.zone, view.now));
  const all = starts.map((_, part) => errors.reduce((sum, { parts }) => sum + (parts[part] ?? 0), 0));
  const count = numberText(total, MAX_COUNTED);
  return (
    <>
      <p class="lead">
        <b>
          {count} {total === 1 ? 'run' : 'runs'}
        </b>{' '}
        {verb(total)} the last {SPANS[span].words}, with{' '}
        {errors.length === 1 ? 'one error' : `${numberText(errors.length)} errors`} in{' '}
        {jobs === 1 ? 'one job' : `${numberText(jobs)} jobs`}.
        {isCapped
          ? ` The newest ${numberText(MAX_ERRORS_READ)} are grouped below; the counts are of these.`
          : ''}
      </p>
      <div class="over-time">
        <Sparkline
          counts={all}
          what={`${word} runs`}
          times={times}
          look={look}
          width={1000}
          height={64}
          marks={marksOf(deploys, { from, to: view.now.getTime() })}
        />
        <div class="over-time-ends">
          <span>{times[0]}</span>
          <span>
            a bar is {formatSpan(SPANS[span].ms / PARTS)}, the highest {numberText(Math.max(...all))}
          </span>
          <span>now</span>
        </div>
        <MarkNames view={view} deploys={deploys} from={from} />
      </div>
      <ol class="errors">
        {errors.slice(0, MAX_GROUPS).map(error => (
          <Group view={view} shown={shown} error={error} times={times} />
        ))}
      </ol>
      {errors.length > MAX_GROUPS ? (
        <p class="faint">{numberText(errors.length - MAX_GROUPS)} rarer errors are not listed.</p>
      ) : null}
    </>
  );
}

function Group({
  view,
  shown: { kind, span, read, isCapped },
  error: { job, group, count, firstAt, firstDeploy, lastAt, lastId, sample, parts },
  times,
}: {
  readonly view: View;
  readonly shown: Shown;
  readonly error: ErrorCount;
  readonly times: readonly string[];
}) {
  const { status, word, look } = KINDS[kind];
  const query = { status, job, name: group.name, code: group.code, message: group.message, from: span };
  const share = Math.round((count / read) * 100);
  return (
    <li class="sheet" data-row>
      <div class="e-what">
        <p class="e-message">
          <a href={view.link('/runs', query)}>
            <b>{plainLine(group.name, 100)}</b>
            {group.code === null ? null : <code>{plainLine(group.code, 60)}</code>}{' '}
            <Message text={group.message} />
          </a>
        </p>
        <p class="muted">
          <a href={view.link(`/jobs/${encodeURIComponent(job)}`)}>{plainLine(job, 200)}</a> · last in run{' '}
          <a class="mono" href={view.link(`/runs/${lastId}`)}>
            {lastId}
          </a>
          {plainLine(sample, 500) === group.message ? null : (
            <span class="sample">{plainLine(sample, 240)}</span>
          )}
        </p>
      </div>
      <div class="e-when">
        <Sparkline counts={parts} what={`${word} runs with this error`} times={times} look={look} />
        <span class="faint">
          {count === 1 ? null : (
            <>
              <Time view={view} at={new Date(firstAt)} relative /> to{' '}
            </>
          )}
          <Time view={view} at={new Date(lastAt)} relative />
        </span>
        {firstDeploy === null || isCapped ? null : (
          <span class="faint first-in" title={`the first of them, in the last ${SPANS[span].words}`}>
            first seen in{' '}
            <a class="link" href={view.link('/runs', { deploy: firstDeploy, job, status })}>
              {plainLine(firstDeploy, 40)}
            </a>
          </span>
        )}
      </div>
      <div class="e-count">
        <b>
          {numberText(count)}
          {isCapped ? '+' : ''}
        </b>
        <span class="faint">{share === 0 ? 'under 1%' : `${share}%`}</span>
      </div>
      {view.user.role === 'view' || kind !== 'dead' ? null : (
        <div class="e-do">
          <a class="button" href={view.link('/runs/retry-all', query)}>
            {count === 1 ? 'Retry it …' : 'Retry all …'}
          </a>
        </div>
      )}
    </li>
  );
}

/** The placeholders of a normalized message stand back. */
function Message({ text }: { readonly text: string }) {
  const parts = plainLine(text, 240).split(/(<(?:n|id|time|email|address|text)>)/);
  return (
    <span class="normal">
      {parts.map((part, index) => (index % 2 === 1 ? <i>{part.slice(1, -1)}</i> : part))}
    </span>
  );
}
