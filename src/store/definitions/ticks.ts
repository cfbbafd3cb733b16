// Notes the last tick, or beat of a daemon, of each host and checkout.
import type { Session } from '../connection/database.js';
import { statement } from '../connection/statement.js';
import type { TickKind } from '../schema/tables.js';

/** Who ticks, and with which versions. */
export interface Ticker {
  readonly host: string;
  /** The checkout: the folder of the project. */
  readonly folder: string;
  readonly kind: TickKind;
  /** Whose set of definitions it brings, and its fingerprint. */
  readonly service: string;
  readonly fingerprint: string;
  readonly version: string;
  readonly node: string;
  readonly zoneData: string;
  /** What it keeps, as JSON. */
  readonly keeps: string;
  /** The host's clock, in epoch milliseconds. Only its difference from the database's clock is stored. */
  readonly hostMs: number;
}

/** No tick for longer than this is a silence, also of a host that ticks each minute. */
export const SILENCE_SECONDS = 100;

/** Until when a host that sleeps has announced that it does, or when it ticked last; over its row. */
export const lastTickOf = (tick: string): string => `greatest(${tick}.at, ${tick}.asleep_until)`;

/** Over `t`: a sleep counts as a tick a minute, or who sleeps much would be missed late. */
const SLEPT_MINUTES = `case when t.asleep_until > t.at
    then (extract(epoch from least(t.asleep_until, tock.now()) - t.at) / 60)::bigint else 0 end`;

/**
 * Notes a tick, unless one was noted in the last half minute: then it reads one row and writes nothing.
 * A silence of its own, if longer than usual, is kept for a week.
 * @param condition of the rows of `source`, a table expression
 */
export const noteTickFrom = (source: string, condition: string): string => `
  insert into tock.ticks as t (host, folder, kind, service, fingerprint, version, node, zone_data, clock_ms)
  select :host, :folder, :kind, :service, :fingerprint, :version, :node, :zoneData, round(:hostMs::float8 - extract(epoch from tock.now())::float8 * 1000)
  from ${source} where ${condition} and not exists (
    select from tock.ticks n where n.host = :host and n.folder = :folder and n.kind = :kind and n.service = :service
      and n.fingerprint = :fingerprint and n.version = :version and n.node = :node
      and n.stopped_at is null and n.asleep_until is null and n.at between tock.now() - interval '30 seconds' and tock.now() + interval '1 minute')
  on conflict (host, folder, kind, service) do update set at = tock.now(), tick_count = t.tick_count + 1 + ${SLEPT_MINUTES}, version = excluded.version,
    fingerprint = excluded.fingerprint, set_at = case when t.fingerprint is distinct from excluded.fingerprint then tock.now() else t.set_at end,
    node = excluded.node, zone_data = excluded.zone_data, clock_ms = excluded.clock_ms, stopped_at = null, asleep_until = null,
    silences = case when tock.now() - ${lastTickOf('t')} > greatest(interval '${SILENCE_SECONDS} seconds', (t.at - t.first_at) / greatest(t.tick_count - 1, 1) * 1.7) then (coalesce(t.silences, '{}') + tstzmultirange(tstzrange(${lastTickOf('t')}, tock.now(), '()')))
      * tstzmultirange(tstzrange(tock.now() - interval '7 days', null)) else t.silences end`;

/**
 * Notes what its process keeps, unless it was noted in the last hour. Not with the tick: processes of one
 * host and folder have one row of ticks, and may keep different things.
 */
export const noteKeptFrom = (source: string, condition: string): string => `
  insert into tock.upkeep as u (kind, at) select 'keeps ' || :keeps::text, tock.now()
  from ${source} where ${condition} and not exists (select from tock.upkeep n where n.kind = 'keeps ' || :keeps::text
    and n.at between tock.now() - interval '1 hour' and tock.now() + interval '1 minute')
  on conflict (kind) do update set at = tock.now()`;

const ALWAYS = ['(values (true)) always(yes)', 'yes'] as const;
const NOTE = statement<Ticker, never>(
  'note-tick',
  `with kept as (${noteKeptFrom(...ALWAYS)}
)${noteTickFrom(...ALWAYS)}`,
);

/** Notes a tick that has done its work, at most once in half a minute. */
export async function noteTick(session: Session, ticker: Ticker): Promise<void> {
  await NOTE.run(session, ticker);
}

/** Notes that a daemon was stopped in order, so that its silence is none. */
export const noteStopped = statement<Pick<Ticker, 'host' | 'folder' | 'kind' | 'service'>, never>(
  'note-stopped',
  `update tock.ticks set stopped_at = tock.now(), asleep_until = null where host = :host and folder = :folder and kind = :kind and service = :service`,
);

/** Notes that a host sends no statement for some milliseconds from now on, so that nobody misses it. */
export const noteAsleep = statement<
  Pick<Ticker, 'host' | 'folder' | 'kind' | 'service'> & { readonly ms: number },
  never
>(
  'note-asleep',
  `update tock.ticks set at = tock.now(), asleep_until = tock.now() + :ms::float8 * interval '1 millisecond'
where host = :host and folder = :folder and kind = :kind and service = :service`,
);
