// A job's week beside the one before: how much ended, how long it took, how much of it died.
import type { JobFigures } from '../../answers/runs/read-job.js';
import type { JobWeek } from '../../model/metrics/job-weeks.js';
import { Empty, Sheet } from '../layout/parts.js';
import { numberText, shortTime, spanText } from '../layout/text.js';
import { MarkNames, marksOf } from '../pictures/deploy-marks.js';
import { Sparkline } from '../pictures/sparkline.js';
import type { View } from '../view.js';

export interface JobFiguresProps {
  readonly view: View;
  /** The job's. */
  readonly name: string;
  readonly figures: JobFigures;
}

export function JobFiguresSection({ view, name, figures }: JobFiguresProps) {
  const { thisWeek, lastWeek, slower, starts, deploys } = figures;
  const from = starts[0] ?? 0;
  const isUnused = endedIn(thisWeek) + endedIn(lastWeek) === 0;
  return (
    <section aria-labelledby="weeks">
      <h2 id="weeks">
        This week beside the last <small>seven days up to now; times are estimates from buckets</small>
      </h2>
      {isUnused ? (
        <Empty title={`No run of ${name} has ended in the last two weeks`} />
      ) : (
        <Sheet>
          {slower === null ? null : (
            <p class="bad">
              Slower than usual: its {slower.name === 'p50' ? 'median' : '95th percentile'} is{' '}
              {slower.times.toFixed(1)} times that of the week before.
            </p>
          )}
          <Sparkline
            counts={thisWeek.ended}
            what="runs that ended"
            times={starts.map(at => shortTime(new Date(at), view.zone, view.now))}
            look="ok"
            width={1000}
            height={56}
            marks={marksOf(deploys, { from, to: view.now.getTime() })}
          />
          <MarkNames view={view} deploys={deploys} from={from} />
          <WeeksTable thisWeek={thisWeek} lastWeek={lastWeek} />
        </Sheet>
      )}
    </section>
  );
}

const endedIn = ({ succeeded, dead, cancelled }: JobWeek) => succeeded + dead + cancelled;
const ms = (value: number | null) => (value === null ? '–' : spanText(Math.round(value)));
/** Nothing where there is nothing to share. */
function share(value: number | null): string[] {
  if (value === null || value === 0) return [];
  return [value < 0.001 ? 'under 0.1%' : `${(value * 100).toFixed(1)}%`];
}

const ROWS: readonly (readonly [string, (week: JobWeek) => string])[] = [
  ['Runs ended', week => numberText(endedIn(week))],
  ['Half take at most', week => ms(week.p50Ms)],
  ['95 of 100 take at most', week => ms(week.p95Ms)],
  ['95 of 100 wait at most', week => ms(week.waitP95Ms)],
  ['Dead', week => [numberText(week.dead), ...share(week.deadShare)].join(', ')],
  ['Skipped', week => numberText(week.skipped)],
];

function WeeksTable({ thisWeek, lastWeek }: Pick<JobFigures, 'thisWeek' | 'lastWeek'>) {
  return (
    <table class="weeks">
      <thead>
        <tr>
          <th>
            <span class="unseen">Figure</span>
          </th>
          <th class="n">This week</th>
          <th class="n">Last week</th>
        </tr>
      </thead>
      <tbody>
        {ROWS.map(([label, text]) => (
          <tr>
            <th scope="row">{label}</th>
            <td class="n">{text(thisWeek)}</td>
            <td class="n muted">{text(lastWeek)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
