// The channels: where each sends, what became of its last messages, and a test of it. No secret is shown.
import type { ChannelDelivery } from '../../answers/alerts.js';
import type { AlertChannelRecord, AlertRuleRecord } from '../../model/alerts/rule-words.js';
import { ActionForm, Empty, RunLink, Sheet, Time } from '../layout/parts.js';
import { plainLine } from '../layout/plain-text.js';
import type { View } from '../view.js';
import { Outcome } from './subject.js';

/** Where nothing is configured, and nothing ever was: what to do. */
export function NoChannel() {
  return (
    <Empty title="Nobody is notified yet">
      <p>
        Tell Tock where to send what goes wrong, in the job module beside <code>jobs</code>:
      </p>
      <pre>{`export const alerts = {
  channels: [{ slack: { env: 'SLACK_URL' } }],
};`}</pre>
      <p>
        There are webhooks, Slack, mail and commands. Without <code>rules</code>, each condition has one:
        failing, dead, late, running-long, waiting, silent and broken. Then try it:{' '}
        <code>tock alerts test</code>
      </p>
    </Empty>
  );
}

const KINDS: Readonly<Record<AlertChannelRecord['kind'], string>> = {
  webhook: 'signed webhook',
  slack: 'Slack',
  mail: 'mail',
  command: 'command',
};

export function Channels({
  view,
  channels,
  deliveries,
  rules,
}: {
  readonly view: View;
  readonly channels: readonly AlertChannelRecord[];
  readonly deliveries: readonly ChannelDelivery[];
  readonly rules: readonly AlertRuleRecord[];
}) {
  const others = [...new Set(deliveries.map(({ channel }) => channel))].filter(
    name => !channels.some(channel => channel.name === name),
  );
  return (
    <>
      <h2>Channels</h2>
      {channels.length + others.length === 0 ? (
        <Empty title="This process has no channels">
          <p>
            Add one to the job module: <code>{`channels: [{ slack: { env: 'SLACK_URL' } }]`}</code>
          </p>
        </Empty>
      ) : (
        <div class="channels">
          {channels.map(channel => (
            <Channel
              view={view}
              channel={channel}
              deliveries={deliveries.filter(each => each.channel === channel.name)}
              uses={rules.filter(rule => rule.channels.includes(channel.name)).length}
            />
          ))}
          {others.map(name => (
            <Sheet>
              <h3>{name}</h3>
              <p class="muted">This process does not have it: another does, or it was renamed.</p>
              <Deliveries view={view} deliveries={deliveries.filter(each => each.channel === name)} />
            </Sheet>
          ))}
        </div>
      )}
    </>
  );
}

function Channel({
  view,
  channel: { name, kind, target },
  deliveries,
  uses,
}: {
  readonly view: View;
  readonly channel: AlertChannelRecord;
  readonly deliveries: readonly ChannelDelivery[];
  /** Rules that notify it. */
  readonly uses: number;
}) {
  return (
    <Sheet>
      <h3>
        {name} <small>{KINDS[kind]}</small>
      </h3>
      <p class="muted">
        to <code>{plainLine(target, 200)}</code>
        {uses === 0 ? '; no rule notifies it' : ''}
      </p>
      <Deliveries view={view} deliveries={deliveries} />
      <ActionForm
        view={view}
        action="/alerts/test"
        label="Send a test …"
        fields={{ channel: name }}
        confirm={{
          verb: `Send a test message to ${name}`,
          keep: 'Send nothing',
          text: `One message that says that it is a test goes to ${target} now. All who receive alerts there get it.`,
        }}
        needs="operate"
      />
    </Sheet>
  );
}

function Deliveries({
  view,
  deliveries,
}: {
  readonly view: View;
  readonly deliveries: readonly ChannelDelivery[];
}) {
  if (deliveries.length === 0) return <p class="faint">Nothing was sent to it yet.</p>;
  return (
    <ul class="plain deliveries">
      {deliveries.map(delivery => {
        const { runId, at, flips, error, answer, nextAt } = delivery;
        return (
          <li>
            <Outcome delivery={delivery} /> <RunLink view={view} id={runId} />{' '}
            {at === null ? null : <Time view={view} at={at} relative />}
            {flips === 1 ? null : <span class="muted"> {flips} alerts in one</span>}
            {error === null ? null : <span class="sub bad">{plainLine(error, 300)}</span>}
            {error === null && answer !== null ? <span class="sub">{plainLine(answer, 120)}</span> : null}
            {nextAt === null ? null : (
              <span class="sub">
                next attempt <Time view={view} at={nextAt} relative />
              </span>
            )}
          </li>
        );
      })}
    </ul>
  );
}
