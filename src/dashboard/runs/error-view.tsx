// An error of an attempt: what it says, and folded beneath it its stack and its causes.
import { newsOfCause, partsOf } from '../../model/run/errors/root-cause.js';
import type { ErrorDescription } from '../../model/run/sanitize.js';
import { plainBlock, plainLine } from '../layout/plain-text.js';

export function ErrorView({ error }: { readonly error: ErrorDescription }) {
  const { stack, cause, errors = [], leftOut = 0 } = error;
  const frames = framesOf(stack ?? null);
  const hasMore = frames !== '' || cause !== undefined || errors.length > 0 || leftOut > 0;
  const count = (cause === undefined ? 0 : 1) + errors.length;
  return (
    <div class="error">
      <Headline error={error} news={newsOfCause(partsOf(error))} />
      {hasMore ? (
        <details>
          <summary>{count === 0 ? 'stack' : frames === '' ? 'causes' : 'stack and causes'}</summary>
          <Beneath error={error} />
        </details>
      ) : null}
    </div>
  );
}

/** @param props.news what its causes, which are folded beneath it, say beyond its message */
function Headline({
  error: { name, code, message },
  news = null,
}: {
  readonly error: ErrorDescription;
  readonly news?: string | null;
}) {
  return (
    <p class="error-message">
      <b>{plainLine(name, 200)}</b>
      {typeof code === 'string' && code !== '' ? <code>{plainLine(code, 200)}</code> : null}{' '}
      <span>
        {plainBlock(message)}
        {news === null ? null : `${message === '' ? '' : ': '}${plainLine(news, 500)}`}
      </span>
    </p>
  );
}

function Beneath({ error }: { readonly error: ErrorDescription }) {
  const { stack, cause, errors = [], leftOut = 0 } = error;
  const frames = framesOf(stack ?? null);
  return (
    <>
      {frames === '' ? null : <pre class="stack">{frames}</pre>}
      {errors.map((member, index) => (
        <Nested error={member} label={`${index + 1} of ${errors.length}`} />
      ))}
      {cause === undefined ? null : <Nested error={cause} label="caused by" />}
      {leftOut > 0 ? <p class="faint">{leftOut} more were not kept.</p> : null}
    </>
  );
}

function Nested({ error, label }: { readonly error: ErrorDescription; readonly label: string }) {
  return (
    <div class="nested">
      <span class="sub">{label}</span>
      <Headline error={error} />
      <Beneath error={error} />
    </div>
  );
}

/** The lines after the message, which the first lines of a stack repeat. */
function framesOf(stack: string | null): string {
  return plainBlock(stack ?? '')
    .split('\n')
    .filter(line => /^\s+at /.test(line))
    .map(line => line.trim())
    .join('\n');
}
