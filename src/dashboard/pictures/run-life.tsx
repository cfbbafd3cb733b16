// The life of a run as a band: waits are lines, attempts are blocks, and what happened in them are marks.
import { formatSpan } from '../../model/duration.js';
import { type AttemptOutcome, cutLife, type Phase, type RunLife } from '../../model/run/run-life.js';
import { waitWords } from '../../model/run/run-wait.js';
import type { RunStatus } from '../../model/run/states.js';
import { spanText } from '../layout/text.js';
import { LifeClocks } from './life-clocks.js';
import { CHARACTER, positionOf, scaleLife } from './life-scale.js';

/** Something that happened at an instant: a step, an effect, a request. Epoch milliseconds. */
export interface LifeMark {
  readonly at: number;
  readonly kind: 'effect' | 'cancel';
  readonly label: string;
}

export interface RunLifePictureProps {
  readonly life: RunLife;
  readonly status: RunStatus;
  readonly marks: readonly LifeMark[];
  /** What a run that is due waits for now; null: it does not. */
  readonly waitsFor: string | null;
  /** An instant as a clock shows it, in epoch milliseconds. */
  readonly clock: (at: number) => string;
}

const MAX_PHASES = 21;
const WIDTH = 1000;
const SIDE = 16;
const BAND = { top: 46, height: 36 };
const MIDDLE = BAND.top + BAND.height / 2;
const BOTTOM = 148;

const WORDS: Readonly<Record<Exclude<Phase['kind'], 'attempt'>, string>> = {
  delay: 'not due yet',
  wait: 'waits for a worker',
  backoff: 'until it is due again',
  asleep: 'asleep',
  lost: 'not on record',
};
const GLYPHS: Readonly<Record<AttemptOutcome, string>> = {
  running: '…',
  succeeded: '✓',
  failed: '✕',
  lost: '!',
  released: '↩',
  waiting: 'z',
  cancelled: '–',
  skipped: '–',
};

/** Said where there is room, because their glyphs say little. */
const SPOKEN: Readonly<Partial<Record<AttemptOutcome, string>>> = {
  lost: 'lost',
  released: 'given back',
  waiting: 'began to wait',
  cancelled: 'cancelled',
};

/** What the shapes mean, of those that are there. */
const KEYS: readonly {
  readonly look: string;
  readonly word: string;
  readonly has: (phase: Phase) => boolean;
}[] = [
  { look: 'k-ok', word: 'succeeded', has: ({ outcome }) => outcome === 'succeeded' },
  { look: 'k-failed', word: 'failed', has: ({ outcome }) => outcome === 'failed' },
  { look: 'k-lost', word: 'lease expired', has: ({ outcome }) => outcome === 'lost' },
  { look: 'k-cancel', word: 'cancelled', has: ({ outcome }) => outcome === 'cancelled' },
  { look: 'k-run', word: 'running', has: ({ outcome }) => outcome === 'running' },
  { look: 'k-asleep', word: 'asleep: it waits', has: ({ kind }) => kind === 'asleep' },
  { look: 'k-wait', word: 'due, waits', has: ({ kind }) => kind === 'wait' },
  { look: 'k-delay', word: 'not due yet', has: ({ kind }) => kind === 'backoff' || kind === 'delay' },
];

/** Phases that are left out of a long life, as one. */
interface Hidden {
  readonly kind: 'hidden';
  readonly from: number;
  readonly to: number;
  readonly attempts: number;
}
type Shown = Phase | Hidden;

export function RunLifePicture({ life, status, marks, waitsFor, clock }: RunLifePictureProps) {
  const shown = shorten(life.phases);
  const { placed, isToScale, width } = scaleLife(
    shown.map(own => ({ kind: own.kind === 'hidden' ? 'lost' : own.kind, from: own.from, to: own.to, own })),
    WIDTH,
  );
  const total = width + 2 * SIDE;
  const places = placed.map(({ phase, x, width: w }) => ({ phase: phase.own, x: x + SIDE, width: w }));
  const end = SIDE + width;
  const isLive = status === 'queued' || status === 'running' || status === 'failed';
  const nowX = isLive ? positionOf(placed, life.now, SIDE) : null;
  return (
    <figure class="life">
      <div class="life-scroll" tabindex={0} role="group" aria-label="Picture of the run’s life">
        <svg
          viewBox={`0 0 ${total} ${BOTTOM}`}
          width={total}
          height={BOTTOM}
          role="img"
          aria-label={summary(life, status)}
          class={total > WIDTH + 2 * SIDE ? 'wide' : ''}
        >
          <circle class="l-start" cx={SIDE} cy={MIDDLE} r="5" />
          {places.map(each => (
            <PhaseShape place={each} waitsFor={waitsFor} />
          ))}
          {marks.map(mark => (
            <MarkShape mark={mark} x={positionOf(placed, mark.at, SIDE)} />
          ))}
          {nowX === null ? null : (
            <g>
              <line
                class="now-line"
                x1={nowX}
                x2={nowX}
                y1={BAND.top - 14}
                y2={BAND.top + BAND.height + 14}
              />
              <text x={nowX} y={BAND.top - 20} text-anchor="middle" class="l-now">
                now
              </text>
            </g>
          )}
          {isLive ? null : <End x={end + 8} status={status} />}
          <LifeClocks
            places={places}
            end={life.to}
            hasEnd={!isLive || life.phases.at(-1)?.kind !== 'attempt'}
            left={SIDE}
            right={end}
            y={BOTTOM - 14}
            clock={clock}
          />
        </svg>
      </div>
      <figcaption class="legend">
        {KEYS.filter(({ has }) => life.phases.some(has)).map(({ look, word }) => (
          <span class={`key ${look}`}>{word}</span>
        ))}
        {marks.some(mark => mark.kind === 'effect') ? <span class="key k-effect">step or effect</span> : null}
        {isToScale ? null : (
          <span class="faint">Longer is wider, but not to scale; the spans are exact.</span>
        )}
      </figcaption>
    </figure>
  );
}

function shorten(phases: readonly Phase[]): readonly Shown[] {
  const { first, hidden, last } = cutLife(phases, MAX_PHASES);
  if (hidden === 0) return first;
  const between = phases.slice(first.length, phases.length - last.length);
  return [
    ...first,
    {
      kind: 'hidden',
      from: first.at(-1)?.to ?? 0,
      to: last[0]?.from ?? 0,
      attempts: between.filter(phase => phase.kind === 'attempt').length,
    },
    ...last,
  ];
}

interface Place {
  readonly phase: Shown;
  readonly x: number;
  readonly width: number;
}

const fits = (text: string, width: number) => text.length * CHARACTER <= width - 4;

function PhaseShape({
  place: { phase, x, width },
  waitsFor,
}: {
  readonly place: Place;
  readonly waitsFor: string | null;
}) {
  const length = phase.to - phase.from;
  const span =
    phase.kind === 'hidden' || length === 0 ? '' : length < 60_000 ? spanText(length) : formatSpan(length);
  const center = x + width / 2;
  if (phase.kind === 'attempt') return <Attempt phase={phase} x={x} width={width} span={span} />;
  const words = wordsOf(phase, waitsFor);
  const short = phase.kind === 'hidden' ? `+${phase.attempts}` : '';
  const label = fits(words, width) ? words : short;
  return (
    <g class={`l-gap l-${phase.kind}${phase.kind !== 'hidden' && phase.isOpen ? ' open' : ''}`}>
      <title>{`${words}${span === '' ? '' : `: ${span}`}`}</title>
      <line x1={x} x2={x + width} y1={MIDDLE} y2={MIDDLE} />
      {label === '' ? null : (
        <text x={center} y={MIDDLE - 9} text-anchor="middle">
          {label}
        </text>
      )}
      {span !== '' && fits(span, width) ? (
        <text x={center} y={MIDDLE + 19} text-anchor="middle" class="l-span">
          {span}
        </text>
      ) : null}
    </g>
  );
}

function wordsOf(phase: Exclude<Shown, { readonly kind: 'attempt' }>, waitsFor: string | null): string {
  if (phase.kind === 'hidden') return `${phase.attempts} more attempts`;
  if (phase.kind === 'wait' && phase.isOpen && waitsFor !== null) return `waits for ${waitsFor}`;
  if (phase.kind === 'asleep' && phase.wait !== null) return waitWords(phase.wait);
  return phase.kind === 'attempt' ? '' : WORDS[phase.kind];
}

function Attempt({
  phase,
  x,
  width,
  span,
}: {
  readonly phase: Phase;
  readonly x: number;
  readonly width: number;
  readonly span: string;
}) {
  const outcome = phase.outcome ?? 'failed';
  const glyph = GLYPHS[outcome];
  const long = `attempt ${phase.attempt} ${SPOKEN[outcome] ?? glyph}`;
  const label = fits(long, width) ? long : `${phase.attempt} ${glyph}`;
  const worker = phase.worker ?? '';
  const inner = Math.max(width - 2, 2);
  return (
    <g class={`l-attempt l-${outcome}`}>
      <title>{`attempt ${phase.attempt}: ${outcome}${span === '' ? '' : `, ${span}`}${worker === '' ? '' : `, ${worker}`}`}</title>
      <rect x={x + 1} y={BAND.top} width={inner} height={BAND.height} rx="6" />
      <text x={x + width / 2} y={MIDDLE + 4} text-anchor="middle" class="l-number">
        {label}
      </text>
      {worker !== '' && fits(worker, width + 30) ? (
        <text x={x + width / 2} y={BAND.top - 8} text-anchor="middle">
          {worker}
        </text>
      ) : null}
      {span !== '' && fits(span, width + 14) ? (
        <text x={x + width / 2} y={BAND.top + BAND.height + 17} text-anchor="middle" class="l-span">
          {span}
        </text>
      ) : null}
    </g>
  );
}

function MarkShape({ mark, x }: { readonly mark: LifeMark; readonly x: number | null }) {
  if (x === null) return null;
  if (mark.kind === 'cancel')
    return (
      <g class="l-cancel">
        <title>{mark.label}</title>
        <line x1={x} x2={x} y1={BAND.top - 14} y2={BAND.top + BAND.height + 6} />
        <text x={x} y={BAND.top - 20} text-anchor="middle">
          asked to stop
        </text>
      </g>
    );
  return (
    <g class="l-effect">
      <title>{mark.label}</title>
      <path d={`M${x} ${BAND.top + BAND.height - 5}l5 5l-5 5l-5 -5z`} />
    </g>
  );
}

function End({ x, status }: { readonly x: number; readonly status: RunStatus }) {
  const at = { cx: x, cy: MIDDLE };
  if (status === 'dead') return <path class="l-end e-dead" d={`M${x} ${MIDDLE - 8}l8 8l-8 8l-8 -8z`} />;
  return <circle class={`l-end e-${status}`} {...at} r="6.5" />;
}

function summary({ phases, from, to }: RunLife, status: RunStatus): string {
  const attempts = phases.filter(phase => phase.kind === 'attempt');
  const failed = attempts.filter(phase => phase.outcome === 'failed' || phase.outcome === 'lost').length;
  const words = [
    `${attempts.length} ${attempts.length === 1 ? 'attempt' : 'attempts'} in ${formatSpan(to - from)}`,
    failed === 0 ? '' : `${failed} failed`,
    `now ${status}`,
  ];
  return `${words.filter(word => word !== '').join(', ')}; the list below says the same`;
}
