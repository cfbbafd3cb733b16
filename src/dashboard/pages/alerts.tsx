// Alerts: what is down, the rules, who is notified and what came of it; to mute, and to try a channel.
import type { Context } from 'hono';
import {
  countDownByRule,
  type DownCount,
  listAlerts,
  listDeliveries,
  listFlips,
  listMutes,
} from '../../answers/alerts.js';
import { formatSpan } from '../../model/duration.js';
import { TockError } from '../../model/errors.js';
import { Channels, NoChannel } from '../alerts/channels.js';
import { Down } from '../alerts/down.js';
import { Flips } from '../alerts/flips.js';
import { MuteForm, Mutes, type RefusedMute, readUntil } from '../alerts/mutes.js';
import { Rules } from '../alerts/rules.js';
import { flash } from '../flash.js';
import { Page } from '../layout/page.js';
import { numberText, relativeText } from '../layout/text.js';
import { readRunId } from '../query.js';
import type { App, View } from '../view.js';

type Handler = Context<{ Variables: { view: View } }>;

const MAX_DOWN = 100;
const DELIVERIES = 5;
const FLIPS = 25;
const SECONDS = 15;

export function addAlertsPage(app: App): void {
  app.get('/alerts', async c => await showAlerts(c, null));
  app.post('/alerts/mute', async c => {
    const view = c.get('view');
    const body = await c.req.parseBody();
    const text = (name: string) => (typeof body[name] === 'string' ? body[name].trim() : '');
    const entered = { name: text('name'), until: text('until'), note: text('note') };
    try {
      const until = readUntil(entered.until, view.now);
      const { name } = entered;
      const muted = await view.tock.alerts.mute(name, {
        until,
        ...(entered.note === '' ? {} : { note: entered.note }),
      });
      flash(
        c,
        `No notifications of ${name} are sent for ${formatSpan(muted.until.getTime() - view.now.getTime())}.`,
      );
    } catch (error) {
      if (!(error instanceof TockError) || !/^TOCK_(?:BAD_|NOT_FOUND)/.test(error.code)) throw error;
      c.status(400);
      return await showAlerts(c, { entered, message: error.message });
    }
    return c.redirect(view.link('/alerts'), 303);
  });
  app.post('/alerts/unmute', async c => {
    const view = c.get('view');
    const { name } = await c.req.parseBody();
    const muted = typeof name === 'string' ? name : '';
    const wasMuted = await view.tock.alerts.unmute(muted);
    flash(
      c,
      wasMuted
        ? `${muted} is no longer muted: what is still down is sent with the next tick.`
        : `${muted} was not muted.`,
    );
    return c.redirect(view.link('/alerts'), 303);
  });
  app.post('/alerts/test', async c => {
    const view = c.get('view');
    const { channel } = await c.req.parseBody();
    const [result] = await view.tock.alerts.test(typeof channel === 'string' ? channel : '');
    if (result !== undefined) {
      const { channel: name, isDelivered, answer } = result;
      if (isDelivered) flash(c, `The test message was accepted by ${name}: ${answer}`);
      else flash(c, `The test message was not accepted. ${answer}`, 'bad');
    }
    return c.redirect(view.link('/alerts'), 303);
  });
}

async function showAlerts(c: Handler, refused: RefusedMute | null) {
  const view = c.get('view');
  const { reads, tock } = view;
  const asked = c.req.query('before');
  const before = asked ? readRunId(asked, 'before') : null;
  const [rules, channels, alerts, counts, mutes, deliveries, flips] = await Promise.all([
    tock.alerts.rules(),
    tock.alerts.channels(),
    listAlerts(reads, { limit: MAX_DOWN, isDown: true }),
    countDownByRule(reads),
    listMutes.run(reads, {}),
    listDeliveries(reads, DELIVERIES),
    listFlips(reads, { limit: FLIPS + 1, before }),
  ]);
  const isUnset = rules.length === 0 && channels.length === 0 && flips.length === 0 && alerts.length === 0;
  const names = [...new Set([...rules.map(({ name }) => name), ...alerts.map(({ subject }) => subject)])];
  return c.html(
    <Page
      view={view}
      title="Alerts"
      current="alerts"
      {...(before === null && refused === null ? { live: SECONDS } : {})}
      lead={lead(view, counts, mutes.length)}
    >
      {isUnset ? (
        <NoChannel />
      ) : (
        <>
          <Down view={view} alerts={alerts} total={totalOf(counts)} />
          <Rules view={view} rules={rules} counts={counts} mutes={mutes} />
          <Channels view={view} channels={channels} deliveries={deliveries} rules={rules} />
          <Mutes view={view} mutes={mutes} />
          <MuteForm view={view} names={names} refused={refused} />
          <Flips
            view={view}
            flips={flips.slice(0, FLIPS)}
            older={flips.length > FLIPS ? (flips[FLIPS - 1]?.id ?? null) : null}
            isFirst={before === null}
          />
        </>
      )}
    </Page>,
  );
}

const totalOf = (counts: readonly DownCount[]) => counts.reduce((sum, { count }) => sum + count, 0);

/** The state in a sentence. */
function lead(view: View, counts: readonly DownCount[], muted: number): string {
  const total = totalOf(counts);
  const hushed = muted === 0 ? '' : ` ${muted === 1 ? 'One name is' : `${muted} names are`} muted.`;
  if (total === 0) return `Nothing is down.${hushed}`;
  const since = new Date(Math.min(...counts.map(each => each.since.getTime())));
  const what =
    total === 1 ? 'One alert went down' : `${numberText(total)} alerts are down; the first went down`;
  return `${what} ${relativeText(since, view.now)}.${hushed}`;
}
