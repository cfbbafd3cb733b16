// What a Tock does with alerts, and what each method promises.
import type { AlertTest } from '../engine/operate/alerts.js';
import type { AlertChannelRecord, AlertRuleRecord } from '../model/alerts/rule-words.js';
import type { AlertMute } from '../store/alerts/mutes.js';
import type { AlertFlip, AlertRecord, ChannelDelivery } from '../store/alerts/records.js';
import type { DeliveriesOptions, FlipsOptions, MuteOptions } from './options.js';

/** `tock.alerts`. */
export interface AlertMethods {
  /** What is down, and what has recovered; with the channels that were notified, and their answers. */
  list(options?: { readonly limit?: number }): Promise<AlertRecord[]>;
  /** The rules of this process, with their defaults. */
  rules(): Promise<AlertRuleRecord[]>;
  /** The channels of this process, and where they send; never their secrets. */
  channels(): Promise<AlertChannelRecord[]>;
  /**
   * Each time that an alert went down, was repeated or recovered, the latest first, with what became of the
   * notifications. @throws TockError TOCK_BAD_OPTION
   */
  flips(options?: FlipsOptions): Promise<AlertFlip[]>;
  /** The last messages of each channel, the latest first, with the run that delivers each. */
  deliveries(options?: DeliveriesOptions): Promise<ChannelDelivery[]>;
  /** The mutes that hold now. */
  mutes(): Promise<AlertMute[]>;
  /**
   * Sends no notifications of a rule, or of a definition, job, queue or host, until a time; then of what is
   * still down. @throws TockError TOCK_NOT_FOUND for an unknown name; TOCK_BAD_TIME,
   * TOCK_BAD_DURATION
   */
  mute(name: string, options: MuteOptions): Promise<AlertMute>;
  /** Ends a mute; resolves to whether there was one. */
  unmute(name: string): Promise<boolean>;
  /**
   * Sends a test message now, from this process, to one channel of `alerts` or to all; resolves to what
   * they answered. It leaves a row in the audit. @throws TockError TOCK_NOT_FOUND for an unknown channel
   */
  test(channel?: string): Promise<AlertTest[]>;
}
