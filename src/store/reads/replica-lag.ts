// How far a replica is behind: for the status, and for pages that read from one.

/**
 * SQL for milliseconds; null on a primary. 0 where all that has been received is replayed, because on a quiet
 * primary the last transaction may be hours old.
 */
export const REPLICA_LAG_MS = `case when pg_is_in_recovery() then case
    when pg_last_wal_receive_lsn() = pg_last_wal_replay_lsn() then 0
    else greatest(0, coalesce(round(extract(epoch from clock_timestamp() - pg_last_xact_replay_timestamp()) * 1000), 0))
  end end::float8`;
