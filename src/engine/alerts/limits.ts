// What the question of an idle tick must ask for alerts.
import type { AlertWhen } from '../../model/alerts/options.js';
import type { Alerting } from '../../model/alerts/read-alerts.js';
import type { AlertLimits } from '../../store/alerts/conditions.js';

/** Null: there are no rules. */
export function alertLimits(alerting: Alerting | undefined): AlertLimits | null {
  if (alerting === undefined || alerting.rules.length === 0) return null;
  const shortest = (when: 'waiting' | 'silent') => {
    const limits = alerting.rules.filter(rule => rule.when === when).map(rule => rule.longerThanMs);
    return limits.length === 0 ? null : Math.min(...limits);
  };
  const waiting = alerting.rules.filter(rule => rule.when === 'waiting');
  const isAboutAll = waiting.some(rule => rule.only === null);
  const asks = (when: AlertWhen) => alerting.rules.some(rule => rule.when === when);
  return {
    waitMs: shortest('waiting'),
    silentMs: shortest('silent'),
    waitQueues: isAboutAll ? null : waiting.flatMap(rule => [...(rule.only ?? [])]),
    asksDuration: asks('running-long'),
    asksLate: asks('late'),
  };
}
