// The check of replication: whether a fail-over can lose what was confirmed.

import { psql } from '../problem-words.js';
import type { Finding } from '../problems.js';
import { fine, wrong } from './check.js';

export interface Replication {
  /** Connected standbys. */
  readonly standbys: readonly Standby[];
  /** `synchronous_standby_names`. */
  readonly synchronousNames: string;
  /** `synchronous_commit` of this session. */
  readonly synchronousCommit: string;
}

export interface Standby {
  /** Null: this role may not read it. */
  readonly name: string | null;
  /** `sync`, `quorum`, `potential` or `async`. */
  readonly syncState: string | null;
}

const LOSES =
  'a failover can lose the last commits: enqueues that were confirmed, and outcomes, whose runs are executed again';

export function checkReplication({ standbys, synchronousNames, synchronousCommit }: Replication): Finding {
  const names = synchronousNames.trim();
  const waits = names !== '' && !['off', 'local'].includes(synchronousCommit);
  const follow = followersOf(standbys);
  if (waits) {
    const confirming = standbys.filter(({ syncState }) => syncState === 'sync' || syncState === 'quorum');
    const isKnown = standbys.every(({ syncState }) => syncState !== null);
    if (isKnown && confirming.length === 0)
      return wrong(
        'failing',
        `${follow}, but commits wait for one that is not connected (synchronous_standby_names is ${names}): nothing can be written`,
        'Start that standby; or give up that commits are confirmed by one',
        `${psql('alter system reset synchronous_standby_names')} -c "select pg_reload_conf()"`,
      );
    const by = isKnown ? `, now those of ${listOf(confirming)}` : '';
    return fine(
      `${follow}, and commits wait for confirmation (synchronous_standby_names is ${names}${by}): a failover to such a standby loses nothing`,
    );
  }
  if (standbys.length === 0) return fine(follow);
  if (names === '')
    return wrong(
      'warning',
      `${follow}, but no commit waits for it: ${LOSES}`,
      'Make it synchronous; with Patroni, set synchronous_mode',
      `${psql(`alter system set synchronous_standby_names = '*'`)} -c "select pg_reload_conf()"`,
    );
  return wrong(
    'warning',
    `${follow}, but synchronous_commit is ${synchronousCommit}: ${LOSES}`,
    'Let commits wait for the standby',
    `${psql('alter system set synchronous_commit = on')} -c "select pg_reload_conf()"`,
  );
}

function followersOf(standbys: readonly Standby[]): string {
  if (standbys.length === 0) return 'no standby is connected';
  const list = standbys.some(({ name }) => name !== null) ? ` (${listOf(standbys)})` : '';
  return standbys.length === 1 ? `1 standby follows${list}` : `${standbys.length} standbys follow${list}`;
}

const MAX_SHOWN = 5;

function listOf(standbys: readonly Standby[]): string {
  const names = standbys.flatMap(({ name }) => (name === null ? [] : [name]));
  const more = names.length > MAX_SHOWN ? [`${names.length - MAX_SHOWN} more`] : [];
  return [...names.slice(0, MAX_SHOWN), ...more].join(', ');
}
