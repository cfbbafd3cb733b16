// The tables of alerts; see tables.ts.
import type { AlertStatus, FlipKind } from '../../model/alerts/judge.js';
import type { Bigint, Defaulted, Timestamp } from './column-types.js';

export type AlertEventKind = 'failed' | 'dead' | 'succeeded';

interface AlertEvents {
  id: Defaulted<Bigint>;
  kind: AlertEventKind;
  count: Defaulted<number>;
  run_id: Bigint;
  definition_id: Bigint | null;
  job: string;
  at: Defaulted<Timestamp>;
}

interface AlertWatches {
  definition_id: Bigint;
  check_at: Defaulted<Timestamp>;
}

interface AlertStates {
  rule: string;
  subject: string;
  status: AlertStatus;
  since: Timestamp;
  version: Defaulted<number>;
  failure_count: Defaulted<number>;
  job: string | null;
  definition_id: Bigint | null;
  run_id: Bigint | null;
  last_at: Timestamp;
  notified_at: Timestamp | null;
  detail: string;
}

interface AlertFlips {
  id: Defaulted<Bigint>;
  rule: string;
  condition: string;
  subject: string;
  kind: FlipKind;
  at: Timestamp;
  since: Timestamp;
  detail: string;
  run_id: Bigint | null;
}

interface AlertDeliveries {
  flip_id: Bigint;
  channel: string;
  run_id: Bigint;
  delivered_at: Timestamp | null;
  answer: string | null;
}

interface AlertChannels {
  name: string;
  run_id: Bigint | null;
  free_at: Defaulted<Timestamp>;
}

interface AlertMutes {
  name: string;
  until: Timestamp;
  note: string | null;
  muted_by: Defaulted<string>;
  created_at: Defaulted<Timestamp>;
}

interface AlertClock {
  is_only: Defaulted<boolean>;
  checked_at: Defaulted<Timestamp>;
  check_at: Defaulted<Timestamp>;
}

/** By name. */
export interface AlertTables {
  'tock.alert_events': AlertEvents;
  'tock.alert_watches': AlertWatches;
  'tock.alert_states': AlertStates;
  'tock.alert_flips': AlertFlips;
  'tock.alert_deliveries': AlertDeliveries;
  'tock.alert_channels': AlertChannels;
  'tock.alert_mutes': AlertMutes;
  'tock.alert_clock': AlertClock;
}
