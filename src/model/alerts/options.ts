// What `alerts` takes, in createTock and in the job module: channels, rules, heartbeat.
import type { Duration } from '../duration.js';

/** A secret, read when it is needed: from an environment variable, or from a file. */
export type AlertSecret = { readonly env: string } | { readonly file: string };

/** What every channel takes. */
export interface AlertChannelOptions {
  /** Letters, digits and `. _ : @ -`. Default: `webhook`, `slack`, `mail` or `command`. */
  readonly name?: string;
  /** The longest that one delivery may take. Default `10s`. */
  readonly timeout?: Duration;
  /** IANA zone of the times in its messages. Default: that of the definition; else UTC. */
  readonly timezone?: string;
}

/** What a channel takes that connects to another host. */
export interface AlertNetworkOptions extends AlertChannelOptions {
  /**
   * Allows a connection without TLS to another host than this one; for a mail, also TLS with a certificate
   * that nobody vouches for. Default false.
   */
  readonly insecure?: boolean;
}

/** Posts JSON, signed as the Standard Webhooks specification says. */
export interface WebhookChannel extends AlertNetworkOptions {
  readonly webhook: string | AlertSecret;
  /** The receiver's signing secret, `whsec_…` or any text. */
  readonly secret: AlertSecret;
}

/** Posts `{ text }` to an incoming webhook of Slack, Mattermost, Rocket.Chat … */
export interface SlackChannel extends AlertNetworkOptions {
  readonly slack: string | AlertSecret;
}

/** Sends a mail. Needs the package nodemailer. */
export interface MailChannel extends AlertNetworkOptions {
  /** One address or several. */
  readonly mail: string | readonly string[];
  readonly from: string;
  /** URL of the server, such as `smtps://user:password@mail.example.com`. */
  readonly smtp: string | AlertSecret;
}

/** Starts a program, without a shell. It gets the message as JSON on its standard input. */
export interface CommandChannel extends AlertChannelOptions {
  /** The program and its arguments. */
  readonly command: readonly string[];
  /** Environment variables to pass on, beside PATH, HOME, LANG, TZ and `TOCK_ALERT_…`. Default: none. */
  readonly env?: readonly string[];
}

/** Where notifications are sent. */
export type AlertChannel = WebhookChannel | SlackChannel | MailChannel | CommandChannel;

/** What every rule takes. */
export interface AlertRuleOptions {
  /** For `tock alerts` and its `mute`. Default: what `when` says. */
  readonly name?: string;
  /** Names of channels. Default: all. */
  readonly channels?: readonly string[];
  /** How often a reminder is sent while it is down. Default `1d`; false: never. */
  readonly remind?: Duration | false;
}

/** What a rule about definitions takes. */
export interface AlertDefinitionRule extends AlertRuleOptions {
  /** Only these definitions, and one-off runs of these jobs. Default: all. */
  readonly definitions?: readonly string[];
}

/** When to alert. Durations are texts such as `'15m'`, or milliseconds. */
export type AlertRule =
  /** This many attempts in a row have failed. Default 3. */
  | ({ readonly when: 'failing'; readonly times?: number } & AlertDefinitionRule)
  /** A run has ended dead. */
  | ({ readonly when: 'dead' } & AlertDefinitionRule)
  /** No success within `expect.within` of an occurrence; for definitions that have it. */
  | ({ readonly when: 'late' } & AlertDefinitionRule)
  /** A run takes longer than `expect.maxDuration`; for definitions that have it. */
  | ({ readonly when: 'running-long' } & AlertDefinitionRule)
  /** A due run waits for longer than this for a worker. Default `15m`. */
  | ({
      readonly when: 'waiting';
      readonly longerThan?: Duration;
      readonly queues?: readonly string[];
    } & AlertRuleOptions)
  /** A host that ticked has not for longer than this. Default `10m`. */
  | ({ readonly when: 'silent'; readonly longerThan?: Duration } & AlertRuleOptions)
  /** A definition cannot be evaluated, or was paused after too many dead runs. */
  | ({ readonly when: 'broken' } & AlertDefinitionRule);

/** The conditions. */
export type AlertWhen = AlertRule['when'];

/** Requested after each healthy tick, or beat of a daemon, for a monitor that alerts when none comes. */
export interface TickHeartbeat {
  readonly url: string;
  /** Requested instead after a tick that failed. Default: no request is made. */
  readonly failUrl?: string;
  /** How long a tick waits for the answer at most, up to `30s`. Default `5s`. */
  readonly timeout?: Duration;
}

/** Which channels are notified, and when. */
export interface AlertOptions {
  readonly channels?: readonly AlertChannel[];
  /** Default: one of each kind, with its defaults. */
  readonly rules?: readonly AlertRule[];
  readonly heartbeat?: TickHeartbeat;
  /**
   * The dashboard's address, with its base path, such as `https://ops.example.com/tock`: messages link to it.
   * Default: `TOCK_DASHBOARD_URL` where the command line ticks; else no links.
   */
  readonly dashboard?: string;
}

/** What is expected of a schedule; the rules `late` and `running-long` fire when it is not met. */
export interface Expectation {
  /** A success is expected this long after each occurrence. */
  readonly within?: Duration;
  /** The longest that one attempt should take. Unlike `timeout`, it ends nothing. */
  readonly maxDuration?: Duration;
}
