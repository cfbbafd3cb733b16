// The rules of this process, and how many alerts of each are down.
import type { AlertMute, DownCount } from '../../answers/alerts.js';
import type { AlertRuleRecord } from '../../model/alerts/rule-words.js';
import { formatSpan } from '../../model/duration.js';
import { Empty, Time } from '../layout/parts.js';
import { numberText } from '../layout/text.js';
import type { View } from '../view.js';
import { MuteButton } from './mutes.js';
import { AlertTable } from './subject.js';

export function Rules({
  view,
  rules,
  counts,
  mutes,
}: {
  readonly view: View;
  readonly rules: readonly AlertRuleRecord[];
  readonly counts: readonly DownCount[];
  readonly mutes: readonly AlertMute[];
}) {
  const foreign = counts.filter(({ rule }) => !rules.some(({ name }) => name === rule));
  return (
    <>
      <h2>
        Rules <small>of this process; each is about a schedule, a queue or a host</small>
      </h2>
      {rules.length === 0 ? (
        <Empty title="This process has no rules">
          <p>
            They stand in the job module, <code>export const alerts</code>. Other processes may have some.
          </p>
        </Empty>
      ) : (
        <AlertTable columns={['Rule', 'State', 'About', 'Notifies']} acts>
          {rules.map(rule => (
            <tr>
              <td class="head">
                <b>{rule.name}</b>
                <span class="sub">{rule.condition.replace('a definition', 'a schedule')}</span>
              </td>
              <td class="nowrap" data-label="State">
                <State view={view} count={counts.find(each => each.rule === rule.name)} />
              </td>
              <td data-label="About">{rule.only === null ? 'all' : rule.only.join(', ')}</td>
              <td data-label="Notifies">
                {rule.channels.join(', ') || <span class="faint">nobody</span>}
                <span class="sub">
                  {rule.remindMs === null ? 'no reminders' : `again every ${formatSpan(rule.remindMs)}`}
                </span>
              </td>
              <td class="acts" data-label="">
                {mutes.some(({ name }) => name === rule.name) ? (
                  <span class="muted">muted</span>
                ) : (
                  <MuteButton view={view} name={rule.name} />
                )}
              </td>
            </tr>
          ))}
        </AlertTable>
      )}
      {foreign.length === 0 ? null : (
        <p class="note">
          Down by rules that this process does not have: {foreign.map(({ rule }) => rule).join(', ')}. All
          processes on a database should have the same rules.
        </p>
      )}
    </>
  );
}

function State({ view, count }: { readonly view: View; readonly count: DownCount | undefined }) {
  if (count === undefined) return <span class="pill ok">up</span>;
  return (
    <>
      <span class="pill dead">{numberText(count.count)} down</span>
      <span class="sub">
        since <Time view={view} at={count.since} relative />
      </span>
    </>
  );
}
