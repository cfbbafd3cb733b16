// The page Alerts: what is down, the rules, the channels and their last messages, mutes; and what its buttons do.
import { describe, expect, it } from 'vitest';
import { openReceiver } from '../../engine/alerts/receiver.js';
import { openOnce } from '../../support/open.js';
import { buttonsOf, openPageKit } from './operate-kit.js';

const NOW = '2026-03-08T12:00:00Z';
const receiver = openOnce(openReceiver);
const kit = openOnce(
  async () =>
    await openPageKit([], {
      alerts: {
        channels: [
          { name: 'chat', slack: { env: 'ALERT_TEST_SLACK' } },
          { name: 'team', slack: 'https://hooks.example.com/services/T0/s3cret' },
          { name: 'pager', command: ['true', '--token=s3cret'] },
        ],
        rules: [
          { when: 'dead', channels: ['chat', 'pager'] },
          { when: 'waiting', longerThan: '20m', queues: ['mails'], remind: false },
        ],
      },
    }),
  ({ setClock }) => setClock(NOW),
);
const bare = openOnce(openPageKit, ({ setClock }) => setClock(NOW));

const flip = async (more: Record<string, unknown> = {}) => {
  const {
    rule = 'dead',
    condition = rule,
    subject = 'nightly',
    kind = 'down',
    minutes = 5,
    runId = null,
  } = more;
  const { detail = 'run 7 ended dead: <b>no disk</b>' } = more;
  const [row] = await kit.sql<{ id: string }>(
    `insert into tock.alert_flips (rule, condition, subject, kind, at, since, detail, run_id)
     select $1, $2, $3, $4, tock.now() - $5 * interval '1 minute', tock.now() - $5 * interval '1 minute', $6, $7::bigint returning id::text`,
    [rule, condition, subject, kind, minutes, detail, runId],
  );
  await kit.sql(
    `insert into tock.alert_states (rule, subject, status, since, last_at, detail, run_id)
     select $1, $2, $3, tock.now() - $4 * interval '1 minute', tock.now(), $5, $6::bigint
     on conflict (rule, subject) do update set status = excluded.status`,
    [rule, subject, kind === 'up' ? 'up' : 'down', minutes, detail, runId],
  );
  return row?.id ?? '';
};
const delivery = async (flipId: string, channel: string, more: Record<string, unknown> = {}) => {
  const { status = 'succeeded', error = null, answer = null } = more;
  const isLive = status === 'failed' || status === 'queued';
  const [run] = await kit.sql<{ id: string }>(
    `insert into tock.job_runs (job, queue, status, attempts, fence, started_at, finished_at, run_at, errors)
     values ('tock:deliver-alert', 'tock:alerts', $1, 1, 1, tock.now(), case when not $3 then tock.now() end, tock.now() + interval '10 seconds',
       case when $2::text is null then '[]' else jsonb_build_array(jsonb_build_object('name', 'Error', 'message', $2::text, 'attempt', 1)) end)
     returning id::text`,
    [status, error, isLive],
  );
  await kit.sql(
    `insert into tock.alert_deliveries (flip_id, channel, run_id, delivered_at, answer)
     values ($1, $2, $3, case when $4::text is null then null else tock.now() end, $4)`,
    [flipId, channel, run?.id, answer],
  );
  return run?.id ?? '';
};
const audited = async () =>
  await kit.sql(
    `select action, operator, targets, via from tock.audit where action like 'alerts.%' order by id`,
  );

describe('alerts', () => {
  it('says how to be notified where nothing is configured', async () => {
    const { status, text } = await bare.get('/alerts');
    expect(status).toBe(200);
    expect(text).toContain('Nobody is notified yet');
    expect(text).toContain("channels: [{ slack: { env: 'SLACK_URL' } }]");
    expect(text).toContain('tock alerts test');
  });

  it('lists the rules and the channels, without secrets', async () => {
    const { text, html } = await kit.get('/alerts', 'view');
    expect(text).toContain('Nothing is down.');
    expect(text).toContain('dead a run has ended dead up all chat, pager again every 1d');
    expect(text).toContain('waiting a due run has waited for longer than 20m up mails');
    expect(text).toContain('no reminders');
    expect(text).toContain('chat Slack to $ALERT_TEST_SLACK');
    expect(text).toContain('team Slack to hooks.example.com');
    expect(text).toContain('pager command to true …');
    expect(text).toContain('No alert has gone down yet');
    expect(html).not.toContain('s3cret');
  });

  it('shows what is down, with the run, who was told, and what went wrong there', async () => {
    await kit.sql(
      `insert into tock.job_definitions (name, job, origin, cron) values ('nightly', 'report', 'runtime', '0 3 * * *')`,
    );
    const id = await flip({ runId: '7' });
    const delivered = await delivery(id, 'chat', { answer: 'hooks answered 200: ok' });
    const failing = await delivery(id, 'pager', { status: 'failed', error: 'exit code 3: <i>no</i>' });
    await flip({ rule: 'waiting', subject: 'mails', detail: 'a run has waited for 25m', minutes: 60 });
    await flip({ rule: 'silent', subject: 'web-1:/app', detail: 'nothing has ticked', minutes: 90 });
    const { text, html } = await kit.get('/alerts', 'view');
    expect(text).toContain('3 alerts are down; the first went down 1h 30m ago.');
    expect(text).toContain('nightly dead 5m ago');
    expect(text).toContain('run 7 ended dead: <b>no disk</b> run 7');
    expect(text).toContain(`delivered chat now tried again later pager exit code 3: <i>no</i>`);
    expect(html).not.toContain('<b>no disk</b>');
    expect(html).not.toContain('<i>no</i>');
    for (const path of [
      '/schedules/nightly',
      '/queues/mails',
      '/runs/7',
      `/runs/${delivered}`,
      `/runs/${failing}`,
    ])
      expect(html).toContain(`href="/tock${path}"`);
    // A rule of other processes.
    expect(text).toContain('Down by rules that this process does not have: silent.');
    expect(text).toContain(`delivered run ${delivered} now hooks answered 200: ok`);
    expect(text).toContain(`tried again later run ${failing} now exit code 3: <i>no</i> next attempt in 10s`);
  });

  it('is counted beside its link in each page, and told on Now', async () => {
    const { html } = await kit.get('/workers', 'view');
    expect(html).toMatch(/href="\/tock\/alerts"[^>]*>Alerts<b class="bad">3<\/b>/);
    const now = await kit.get('/', 'view');
    expect(now.text).toMatch(/3 alerts are down nightly \(dead, 5m ago\) ?, mails \(waiting, 1h ago\)/);
  });

  it('lists what happened, a page at a time', async () => {
    for (let n = 0; n < 26; n++) await flip({ subject: `old-${n}`, kind: 'up', detail: 'it has succeeded' });
    const { text, html } = await kit.get('/alerts', 'view');
    expect(text).toContain('old-25 recovered after 0ms · dead it has succeeded nobody');
    const [, older = ''] = /href="\/tock(\/alerts\?before=\d+)#history"/.exec(html) ?? [];
    const next = await kit.get(older, 'view');
    expect(next.text).toContain('old-0');
    expect(next.text).not.toContain('old-25');
    expect((await kit.get('/alerts?before=x', 'view')).status).toBe(400);
  });

  it('mutes for a span or until a time, and ends it, with a row in the audit', {
    tags: 'check',
  }, async () => {
    const muted = await kit.post('/alerts/mute', {
      name: 'nightly',
      until: '4h',
      note: 'moving <b>house</b>',
    });
    expect(muted.text).toContain('No notifications of nightly are sent for 4h.');
    expect(muted.text).toContain('One name is muted.');
    expect(muted.text).toMatch(/nightly 16:00:00 in 4h moving <b>house<\/b> mia now/);
    expect(muted.html).not.toContain('<b>house</b>');
    expect(muted.text).toContain('muted, ends in 4h');
    const until = await kit.post('/alerts/mute', { name: 'dead', until: '2026-03-09T08:00:00Z' });
    expect(until.text).toContain('2 names are muted.');
    const ended = await kit.post('/alerts/unmute', { name: 'nightly' });
    expect(ended.text).toContain(
      'nightly is no longer muted: what is still down is sent with the next tick.',
    );
    expect((await kit.post('/alerts/unmute', { name: 'nightly' })).text).toContain('nightly was not muted.');
    expect(await audited()).toEqual([
      { action: 'alerts.mute', operator: 'mia', targets: ['nightly'], via: 'page' },
      { action: 'alerts.mute', operator: 'mia', targets: ['dead'], via: 'page' },
      { action: 'alerts.unmute', operator: 'mia', targets: ['nightly'], via: 'page' },
    ]);
  });

  it.each([
    ['a name that nothing has', { name: 'nobody', until: '4h' }, /"nobody" is neither a rule of alerts/],
    ['no time', { name: 'dead', until: 'soon' }, /until "soon" is neither a span such as 4h/],
    ['a time that has passed', { name: 'dead', until: '2026-03-01T00:00:00Z' }, /is not in the future/],
  ])(
    'keeps what was entered where a mute is refused: %s',
    { tags: 'check' },
    async (_what, fields, message) => {
      const { status, text, html } = await kit.post('/alerts/mute', { ...fields, note: 'because' });
      expect(status).toBe(400);
      expect(text).toMatch(message);
      expect(html).toContain(`value="${fields.name}"`);
      expect(html).toContain('value="because"');
    },
  );

  it('tests a channel after a question, says what was answered, and leaves a row in the audit', {
    tags: 'check',
  }, async () => {
    const before = (await audited()).length;
    process.env['ALERT_TEST_SLACK'] = receiver.url;
    const asked = await kit.post('/confirm', {
      'confirm-action': '/alerts/test',
      'confirm-verb': 'Send a test message to chat',
      'confirm-keep': 'Send nothing',
      'confirm-text': 'One message.',
      channel: 'chat',
    });
    expect(buttonsOf(asked)).toEqual(['Send a test message to chat']);
    expect(receiver.posted).toHaveLength(0);
    const { text } = await kit.post('/alerts/test', { channel: 'chat' });
    expect(text).toContain(`The test message was accepted by chat: ${receiver.host} answered 200: ok`);
    receiver.answer(response => response.writeHead(500).end('no'));
    const refused = await kit.post('/alerts/test', { channel: 'chat' });
    expect(refused.text).toContain(
      `The test message was not accepted. channel chat: ${receiver.host} answered 500: no`,
    );
    expect(receiver.posted).toHaveLength(2);
    expect((await audited()).slice(before)).toEqual([
      { action: 'alerts.test', operator: 'mia', targets: ['chat'], via: 'page' },
      { action: 'alerts.test', operator: 'mia', targets: ['chat'], via: 'page' },
    ]);
    expect((await kit.post('/alerts/test', { channel: 'caht' })).status).toBe(404);
  });

  it('lets the role view look only', async () => {
    expect(buttonsOf(await kit.get('/alerts', 'view'))).toEqual([]);
    expect(buttonsOf(await kit.get('/alerts', 'operate'))).toContain('Send a test …');
    for (const path of ['/alerts/mute', '/alerts/unmute', '/alerts/test'])
      expect((await kit.post(path, { name: 'dead', until: '1h', channel: 'chat' }, 'view')).status).toBe(403);
  });
});
