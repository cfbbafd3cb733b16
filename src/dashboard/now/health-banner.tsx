// The first thing on the page Now: is anything wrong, and what helps.
import type { Health } from '../../model/health.js';
import { includesRole } from '../../model/operator.js';
import type { View } from '../view.js';
import { RETRY_ALL } from './tables.js';

type Sentence = Health['sentences'][number];

const WORDS: Readonly<Record<Health['level'], string>> = {
  ok: 'All is well',
  warning: 'Attention is needed',
  failing: 'Work is not being done',
  unknown: 'Not everything is known',
};

/** Of the sentences after the first; the rest is a click away, so that the figures are in sight. */
const SHOWN = 2;

export function HealthBanner({ view, health }: { readonly view: View; readonly health: Health }) {
  const [first, ...others] = health.sentences;
  if (first === undefined) return null;
  return (
    <section class={`health ${health.level}`} aria-label="Health">
      <HealthIcon level={health.level} />
      <div>
        <p>
          <span class="unseen">{WORDS[health.level]}: </span>
          <b>{withStop(first.text)}</b>
        </p>
        <Remedy sentence={first} />
      </div>
      <Help view={view} sentence={first} main />
      <Others view={view} sentences={others.slice(0, SHOWN)} />
      {others.length > SHOWN ? (
        <details>
          <summary>and {others.length - SHOWN} more</summary>
          <Others view={view} sentences={others.slice(SHOWN)} />
        </details>
      ) : null}
    </section>
  );
}

function Others({ view, sentences }: { readonly view: View; readonly sentences: readonly Sentence[] }) {
  if (sentences.length === 0) return null;
  return (
    <ul>
      {sentences.map(sentence => (
        <li>
          <p>{withStop(sentence.text)}</p>
          <Remedy sentence={sentence} />
          <Help view={view} sentence={sentence} />
        </li>
      ))}
    </ul>
  );
}

/** A command only where no button does the same. */
function Remedy({ sentence: { remedy, pageRemedy, command } }: { readonly sentence: Sentence }) {
  // A remedy may name the command itself.
  const isSaid = remedy !== pageRemedy || (command !== null && remedy?.includes(command) === true);
  const shown = isSaid ? null : command;
  if (pageRemedy === null && shown === null) return null;
  return (
    <p class="remedy">
      {pageRemedy === null ? null : withStop(pageRemedy)} {shown === null ? null : <code>{shown}</code>}
    </p>
  );
}

const LABELS: Readonly<Record<string, string>> = {
  '/errors': 'Open the errors',
  '/runs': 'Show the runs',
  '/queues': 'Show the queues',
  '/workers': 'Show the workers',
  '/schedules': 'Show the schedules',
  '/doctor': 'Ask the doctor',
  '/freeze': 'Change or end it',
};

function Help({
  view,
  sentence: { link },
  main = false,
}: {
  readonly view: View;
  readonly sentence: Sentence;
  readonly main?: boolean;
}) {
  const path = link?.split('?')[0] ?? '';
  const isQueue = path.startsWith('/queues/') && view.pages.has('/queues');
  if (link === null || !(isQueue || view.pages.has(path))) return null;
  const mayRetry = path === '/errors' && includesRole(view.user.role, 'operate') && view.pages.has(RETRY_ALL);
  return (
    <div class="help">
      <a class={main ? 'button main' : 'button'} href={view.link(link)}>
        {isQueue ? 'Open the queue' : (LABELS[path] ?? 'Show')}
      </a>
      {mayRetry ? (
        <a class="button" href={view.link(RETRY_ALL, { status: 'dead', from: '24h' })}>
          Retry them …
        </a>
      ) : null}
    </div>
  );
}

const withStop = (text: string) => (/[.!?]$/.test(text) ? text : `${text}.`);

/** A shape for each level, so that colour is not needed. */
export function HealthIcon({ level }: { readonly level: Health['level'] }) {
  return (
    <svg width="20" height="20" viewBox="0 0 20 20" aria-hidden="true" class={`icon ${level}`}>
      {level === 'ok' ? (
        <>
          <circle cx="10" cy="10" r="9" />
          <path d="M6 10.4l2.7 2.7L14 7.6" />
        </>
      ) : level === 'warning' ? (
        <>
          <path class="shape" d="M10 1.8 19 17.6H1z" />
          <path d="M10 7.5v4.6M10 14.6v.4" />
        </>
      ) : level === 'failing' ? (
        <>
          <path class="shape" d="M6.3 1h7.4L19 6.3v7.4L13.7 19H6.3L1 13.7V6.3z" />
          <path d="M7 7l6 6M13 7l-6 6" />
        </>
      ) : (
        <>
          <circle cx="10" cy="10" r="8.5" class="outline" />
          <path class="ink" d="M7.6 7.8a2.4 2.4 0 1 1 3.3 2.2c-.7.3-.9.7-.9 1.5M10 14.3v.3" />
        </>
      )}
    </svg>
  );
}
