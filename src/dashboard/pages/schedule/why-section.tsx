// Why an occurrence ran, or did not: the answer of `tock why` in the page.
import type { PropsWithChildren } from 'hono/jsx';
import type { Why, WhyVerdict } from '../../../answers/why/why.js';
import { Sheet } from '../../layout/parts.js';
import type { View } from '../../view.js';

const LOOKS: Readonly<Partial<Record<WhyVerdict, string>>> = {
  succeeded: 'ok',
  running: 'run',
  queued: 'wait',
  failed: 'retry',
  dead: 'dead',
  skipped: 'skip',
  due: 'retry',
  'no-record': 'dead',
  broken: 'dead',
  paused: 'skip',
};

const WORDS: Readonly<Partial<Record<WhyVerdict, string>>> = {
  upcoming: 'to come',
  due: 'due',
  'used-up': 'used up',
  'before-definition': 'before it was made',
  'no-record': 'nothing on record',
  'no-occurrence': 'no occurrence',
  'no-schedule': 'no schedule',
  'before-start': 'before its start',
  'after-end': 'after its end',
  pruned: 'record deleted',
  vanished: 'removed',
};

/** @param children what can be done with the occurrence */
export function WhySection({ view, why, children }: PropsWithChildren<{ view: View; why: Why }>) {
  return (
    <section id="why" class="why" aria-labelledby="why-title">
      <div class="section-head">
        <h2 id="why-title">Why, {why.local === '' ? 'then' : why.local}</h2>
        <span class="muted">{why.timezone}</span>
        <a class="button turn" href={view.link(`/schedules/${encodeURIComponent(why.definition)}`)}>
          Close
        </a>
      </div>
      <Sheet>
        <Answer view={view} why={why} />
        {why.occurrences.map(each => (
          <div class="why-one">
            <h3>{each.local}</h3>
            <Answer view={view} why={each} />
          </div>
        ))}
        {children}
      </Sheet>
    </section>
  );
}

function Answer({ view, why }: { readonly view: View; readonly why: Why }) {
  return (
    <>
      {why.verdict === 'several' ? null : (
        <p>
          <span class={`pill ${LOOKS[why.verdict] ?? 'wait'}`}>
            <b>{WORDS[why.verdict] ?? why.verdict}</b>
          </span>
        </p>
      )}
      <ul class="sentences">
        {why.sentences.map(sentence => (
          <li>
            <Linked view={view} text={plain(sentence)} />
          </li>
        ))}
      </ul>
      {why.run === null ? null : (
        <p>
          <a class="button" href={view.link(`/runs/${why.run.id}`)}>
            Run {why.run.id}
          </a>
        </p>
      )}
    </>
  );
}

/** A sentence as a page has it: with a capital, and without the command for a terminal. */
function plain(sentence: string): string {
  const text = sentence.replace(/ \(tock [^()]*\)/g, '');
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** `run 812` becomes a link. */
function Linked({ view, text }: { readonly view: View; readonly text: string }) {
  const parts = text.split(/\b([Rr]un \d{1,18})\b/);
  return (
    <>
      {parts.map((part, index) =>
        index % 2 === 0 ? (
          part
        ) : (
          <a class="link" href={view.link(`/runs/${part.slice(4)}`)}>
            {part}
          </a>
        ),
      )}
    </>
  );
}
