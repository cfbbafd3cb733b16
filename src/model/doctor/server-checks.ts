// Checks of the schema, the role, the server's settings, and the way to it.
import { formatDuration } from '../duration.js';
import { psql, psqlOfOwner } from '../problem-words.js';
import type { Finding } from '../problems.js';
import { fine, joined, wrong } from './check.js';
import { type Drift, driftFinding } from './schema-checks.js';

export interface SchemaFacts {
  /** Tables whose rows row level security hides from this role. */
  readonly hidden: readonly string[];
  /** What it was called before it was renamed; null: it was not. */
  readonly renamedFrom: string | null;
  /** Of this code, not applied. */
  readonly missing: readonly string[];
  /** Applied, and unknown to this code. */
  readonly newer: readonly string[];
  readonly drift: readonly Drift[];
}

/** Partitions are read through their tables, except those of the live and the finished runs. */
const SHOW_ROWS = psqlOfOwner(
  "do 'declare t regclass; begin for t in select c.oid from pg_class c where c.relnamespace = (select m.relnamespace from pg_class m where m.oid = ''tock.migrations''::regclass) and c.relrowsecurity loop execute format(''alter table %s disable row level security'', t); end loop; end'",
);

export function checkSchema({ hidden, renamedFrom, missing, newer, drift }: SchemaFacts): Finding {
  if (hidden.length > 0)
    return wrong(
      'failing',
      `row level security hides the rows of ${hidden.length} tables from this role, such as ${hidden[0]}`,
      'As the owner (OWNER_DATABASE_URL), switch it off here, where rights decide; and exempt the schema from what has switched it on, such as an event trigger',
      SHOW_ROWS,
    );
  if (renamedFrom !== null)
    return wrong(
      'failing',
      `it was renamed: its functions name the schema ${renamedFrom}`,
      `Rename it to ${renamedFrom} again. To move it, migrate an empty schema of the new name`,
    );
  if (missing.length > 0)
    return wrong('failing', `it lacks ${missing.join(', ')}`, 'As the owner: tock migrate', 'tock migrate');
  if (newer.length > 0)
    return wrong(
      'warning',
      `it is newer than this code: ${newer.join(', ')}`,
      'Deploy the code of that version on this host too',
    );
  return driftFinding(drift) ?? fine('all migrations are applied, and it is as they made it');
}

/** As the migration inserts them. Without its row, nobody does that work. */
const UPKEEP = ['partitions', 'retention', 'pruned'];

/** Of a schema that has all migrations; null: nothing is absent. @param kinds the rows of the table upkeep */
export function checkUpkeep(kinds: readonly string[]): Finding | null {
  const absent = UPKEEP.filter(kind => !kinds.includes(kind));
  if (absent.length === 0) return null;
  const rows = absent.map(kind => `('${kind}', tock.now())`).join(', ');
  return wrong(
    'failing',
    `the table upkeep lacks its row${absent.length === 1 ? '' : 's'} ${absent.join(', ')}: no process makes partitions or prunes without`,
    'Insert what somebody has deleted',
    psql(`insert into tock.upkeep (kind, at) values ${rows}`),
  );
}

export interface RoleRights {
  readonly role: string;
  /** What a worker needs and this role lacks: `insert on job_runs_live`. */
  readonly missing: readonly string[];
  /** Whether it may read which migrations are applied. */
  readonly mayRead: boolean;
}

/** Of a schema that this role may not read. */
export const checkReadable = ({ role }: RoleRights): Finding =>
  wrong(
    'failing',
    `the role ${role} may not read it: usage on the schema, or select on the table migrations, is missing`,
    'Grant what docs/database.md, Roles, lists for this role; the check of its rights has what a worker needs',
  );

/** The command is written for the schema `tock`, like those of all checks. */
export function checkRights({ role, missing }: Omit<RoleRights, 'mayRead'>): Finding {
  if (missing.length === 0) return fine(`the role ${role} may do all that ticks do`);
  const shown = missing.slice(0, 4).join(', ');
  const more = missing.length > 4 ? ` and ${missing.length - 4} more` : '';
  return wrong(
    'failing',
    `the role ${role} cannot tick, for want of ${shown}${more}`,
    'If this role is to tick, grant as the owner (OWNER_DATABASE_URL) what docs/database.md lists for a worker',
    psqlOfOwner(workerGrants(`"${role.replaceAll('"', '""')}"`).join('; ')),
  );
}

/** As docs/database.md lists them. */
export function workerGrants(grantee: string): readonly string[] {
  const functions = [ENQUEUE, COMPLETE, FOLLOW].map(names => names.map(name => `tock.${name}`).join(', '));
  return [
    `grant usage on schema tock to ${grantee}`,
    `grant select, insert, update, delete on all tables in schema tock to ${grantee}`,
    `revoke insert, update, delete on tock.migrations, tock.audit, tock.queue_roles from ${grantee}`,
    `grant insert (operator, via, action, targets, count, details, part_of) on tock.audit to ${grantee}`,
    `grant usage on all sequences in schema tock to ${grantee}`,
    `grant select, update on sequence tock.reap_turn to ${grantee}`,
    ...functions.map(names => `grant execute on function ${names} to ${grantee}`),
    `alter default privileges in schema tock grant select, insert, update, delete on tables to ${grantee}`,
    `alter default privileges in schema tock grant usage on sequences to ${grantee}`,
    `alter default privileges in schema tock grant execute on functions to ${grantee}`,
  ];
}

/** What answers for runs that were handed off. */
const COMPLETE = ['complete', 'fail', 'extend', 'progress', 'tell_of_offers'];
/** What follows changes. */
const FOLLOW = ['changes', 'changes_cursor', 'number_changes'];

/** What enqueues, for the library and SQL. */
export const ENQUEUE = [
  'enqueue',
  'enqueue_one',
  'enqueue_many',
  'enqueue_live',
  'job_defaults',
  'emit',
  'join_runs',
] as const;

/** What ticks read and write. */
export const WORKER_TABLES = [
  'job_definitions',
  'registrations',
  'job_occurrences',
  'job_exceptions',
  'job_keys',
  'job_runs',
  'job_runs_live',
  'job_runs_finished',
  'job_queues',
  'job_slots',
  'fair_scopes',
  'job_limits',
  'key_settings',
  'fair_keys',
  'workers',
  'sleepers',
  'job_effects',
  'job_waits',
  'job_awaited_runs',
  'job_events',
  'job_outbox',
  'job_successors',
  'job_hand_offs',
  'job_offers',
  'ticks',
  'upkeep',
  'log_segments',
  'job_logs',
  'figures_by_minute',
  'figures_by_hour',
  'figures_total',
  'figures_progress',
  'figures_retried',
] as const;

export interface VacuumSettings {
  /** Of the server. */
  readonly isOn: boolean;
  /** Of the table of live runs, such as `fillfactor=45`. */
  readonly tableOptions: readonly string[];
}

/** As the migration sets them: room on each page for a second version of every row, and early vacuum. */
const TABLE_OPTIONS: Readonly<Record<string, number>> = {
  fillfactor: 45,
  autovacuum_vacuum_scale_factor: 0.02,
  autovacuum_vacuum_threshold: 1000,
  autovacuum_analyze_scale_factor: 0.05,
  autovacuum_vacuum_cost_delay: 0,
};

/** Lower values than the migration's are as good: emptier pages, earlier vacuum. */
export function checkAutovacuum({ isOn, tableOptions }: VacuumSettings): Finding {
  const options = new Map(tableOptions.map(option => option.split('=') as [string, string]));
  const table = 'tock.job_runs_live';
  const found: Finding[] = [];
  if (!isOn)
    found.push(
      wrong(
        'failing',
        'autovacuum is off for the whole server, so dead rows pile up',
        'Turn it on',
        `${psql('alter system set autovacuum = on')} -c "select pg_reload_conf()"`,
      ),
    );
  if (/^(?:off|false|no|0)$/.test(options.get('autovacuum_enabled') ?? ''))
    found.push(
      wrong(
        'failing',
        'autovacuum is off for job_runs_live, so dead rows pile up',
        'Turn it on',
        psql(`alter table ${table} reset (autovacuum_enabled)`),
      ),
    );
  const changed = Object.entries(TABLE_OPTIONS).filter(
    ([name, most]) => !(Number(options.get(name) ?? Number.NaN) <= most),
  );
  if (changed.length > 0) {
    const values = changed.map(([name, value]) => `${name} = ${value}`).join(', ');
    found.push(
      wrong(
        'warning',
        `job_runs_live has lost its settings: ${changed.map(([name]) => `${name} is ${options.get(name) ?? 'not set'}`).join(', ')}`,
        'Set them as the migration does; a new fillfactor holds for pages that are written from then on',
        psql(`alter table ${table} set (${values})`),
      ),
    );
  }
  return joined(found, `on, and job_runs_live has a fillfactor of ${options.get('fillfactor') ?? ''}`);
}

/** @param isPooled the server's process is not the one that the connection names */
export function checkPooler(isPooled: boolean, isHeard: boolean): Finding {
  if (!isPooled) return fine('none: this process is connected to the server itself');
  return fine(
    isHeard
      ? 'one is in between, and gives each client a session of its own'
      : 'one is in between, in transaction mode: Tock works through it, without LISTEN',
  );
}

export interface Notifications {
  /** How long it took, in milliseconds; null: it was not heard. */
  readonly heardMs: number | null;
  readonly isPooled: boolean;
  /** Where `pg_tock.notify` is off, as the end of an `alter`: `database "app"`; null: it is on. */
  readonly turnedOffFor: string | null;
  /** Daemons that listen and may be asleep. */
  readonly listeners: number;
}

export function checkListen({ heardMs, isPooled, turnedOffFor, listeners }: Notifications): Finding {
  const who = listeners === 1 ? 'a daemon listens' : `${listeners} daemons listen`;
  if (turnedOffFor !== null) {
    const off = 'pg_tock.notify is off, so enqueueing sends none';
    return listeners === 0
      ? fine(`${off}, and no daemon waits for one`)
      : wrong(
          'warning',
          `${off}, but ${who}: runs wait up to 5 seconds`,
          'Turn it on, or start daemons with --no-listen, which poll every second',
          turnedOffFor === 'system'
            ? `${psql('alter system reset pg_tock.notify')} -c "select pg_reload_conf()"`
            : psql(`alter ${turnedOffFor} reset pg_tock.notify`),
        );
  }
  if (heardMs !== null) return fine(`one was sent and heard within ${formatDuration(heardMs)}`);
  const unheard = `one was sent and not heard${isPooled ? ', because the pooler is in transaction mode' : ''}`;
  return listeners === 0
    ? fine(`${unheard}; no daemon waits for one`)
    : wrong(
        'warning',
        `${unheard}, but ${who}: runs wait up to 5 seconds`,
        'Start daemons with --no-listen, which poll every second, or connect them past the pooler',
        'tock start --no-listen',
      );
}
