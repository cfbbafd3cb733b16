// The page of all databases: how each is, and the way to its pages.

import { MAX_COUNT } from '../../answers/now/figures.js';
import type { HealthLevel } from '../../model/problems.js';
import { MAX_COUNTED } from '../../model/run/match/run-match.js';
import { Dialogs } from '../layout/dialogs.js';
import { Document } from '../layout/document.js';
import { Brand } from '../layout/navigation.js';
import { relativeText } from '../layout/text.js';
import { HealthIcon } from '../now/health-banner.js';
import type { View } from '../view.js';
import type { DatabaseFigures, DatabaseView } from './read-overview.js';

const SECONDS = 5;

export interface OverviewProps {
  readonly databases: readonly DatabaseView[];
  readonly assets: View['assets'];
  readonly link: View['link'];
  readonly zone: string;
  readonly user: string;
  readonly role: string;
}

/** Where the pages of a database are, below the base path. */
export const pathOf = (name: string): string => `/db/${name}`;

const levelOf = ({ figures }: DatabaseView): HealthLevel => figures?.health.level ?? 'failing';

export function OverviewPage({ databases, assets, link, zone, user, role }: OverviewProps) {
  const wrong = databases.filter(each => levelOf(each) !== 'ok').length;
  return (
    <Document
      title="All databases"
      assets={assets}
      base={link('/')}
      zone={zone}
      flash={null}
      dialogs={<Dialogs entries={[]} />}
      navigation={
        <nav id="pages" class="pages" aria-label="Databases">
          <Brand href={link('/')} />
          <a class="here" href={link('/')} aria-current="page">
            All databases
          </a>
          {databases.map(each => (
            <a href={link(`${pathOf(each.name)}/`)}>
              {each.name}
              {levelOf(each) === 'ok' ? null : <b class="bad">{each.figures === null ? 'away' : '!'}</b>}
            </a>
          ))}
          <div class="foot">
            {user} · {role}
            <br />
            <span class="live" id="live" hidden></span>
          </div>
        </nav>
      }
    >
      <main id="main" tabindex={-1} data-live={SECONDS}>
        <header class="page">
          <h1>All databases</h1>
        </header>
        <p class="lead">
          {wrong === 0
            ? `Nothing is wrong in any of the ${databases.length}.`
            : `${wrong} of ${databases.length} ${wrong === 1 ? 'needs' : 'need'} attention.`}{' '}
          Each is a scheduler of its own: keys, limits and chains hold within one database.
        </p>
        <div class="sheet flush">
          <table class="stacked databases">
            <thead>
              <tr>
                <th>Database</th>
                <th>Health</th>
                <th class="n">Waiting</th>
                <th class="n">Running</th>
                <th class="n">Dead, 24 h</th>
                <th class="n">Schedules</th>
              </tr>
            </thead>
            <tbody>
              {databases.map(each => (
                <tr>
                  <td>
                    <a href={link(`${pathOf(each.name)}/`)}>
                      <b>{each.name}</b>
                    </a>
                  </td>
                  {each.figures === null ? (
                    <Away problem={each.problem} />
                  ) : (
                    <Figures figures={each.figures} />
                  )}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      </main>
    </Document>
  );
}

function Away({ problem }: { readonly problem: string }) {
  return (
    <>
      <td data-label="Health" colspan={5}>
        <span class="answer">
          <HealthIcon level="failing" />
          <span>
            <b>Away.</b> {problem}
          </span>
        </span>
      </td>
    </>
  );
}

function Figures({ figures: { health, frame, live } }: { readonly figures: DatabaseFigures }) {
  const [first, ...others] = health.sentences;
  return (
    <>
      <td data-label="Health">
        <span class="answer">
          <HealthIcon level={health.level} />
          <span>
            {first?.text ?? health.level}
            {others.length === 0 ? null : <span class="sub">and {others.length} more</span>}
          </span>
        </span>
      </td>
      <td class="n" data-label="Waiting">
        {capped(live.waiting, MAX_COUNT)}
        {live.oldestDue === null ? null : (
          <span class="sub">the oldest {relativeText(live.oldestDue, frame.now)}</span>
        )}
      </td>
      <td class="n" data-label="Running">
        {capped(live.running, MAX_COUNT)}
      </td>
      <td class={frame.dead > 0 ? 'n bad' : 'n'} data-label="Dead, 24 h">
        {capped(frame.dead, MAX_COUNTED)}
      </td>
      <td class="n" data-label="Schedules">
        {capped(frame.schedules, 10_000)}
      </td>
    </>
  );
}

const capped = (count: number, cap: number) =>
  count > cap ? `${cap.toLocaleString('en')}+` : count.toLocaleString('en');
