// Requests a URL after each healthy tick or beat, for an external monitor that alerts when no request comes.
// By node:http, which takes a tick less time to load than fetch.
import type { Heartbeat } from '../../model/alerts/read-alerts.js';
import type { Engine } from '../engine.js';

/**
 * Sends the request and waits for the answer within the time; never throws. Redirects are not followed.
 * @returns what went wrong, without the URL, whose path is a secret; null: it was answered with 2xx
 */
export async function sendHeartbeat(
  { url, failUrl, timeoutMs }: Heartbeat,
  isHealthy: boolean,
): Promise<string | null> {
  const target = isHealthy ? url : failUrl;
  if (target === null) return null;
  try {
    const { protocol, host } = new URL(target);
    const { request } = protocol === 'https:' ? await import('node:https') : await import('node:http');
    return await new Promise<string | null>(resolve => {
      const signal = AbortSignal.timeout(timeoutMs);
      const asked = request(target, {
        method: 'GET',
        signal,
        agent: false,
        headers: { 'user-agent': 'tock' },
      });
      asked.once('response', response => {
        // Read to its end would be too much: the status is all that is wanted.
        response.destroy();
        const { statusCode = 0 } = response;
        resolve(statusCode >= 200 && statusCode < 300 ? null : `${host} answered ${statusCode}`);
      });
      // A destroyed response may report an error afterwards.
      asked.on('error', error => {
        const { code } = error as { code?: string };
        resolve(
          signal.aborted
            ? `${host} did not answer within ${timeoutMs / 1000} s`
            : `${host}: ${code ?? error.name}`,
        );
      });
      asked.end();
    });
  } catch (error) {
    return error instanceof Error ? error.name : String(error);
  }
}

/** {@link sendHeartbeat}, where one is configured; what goes wrong is logged. Never rejects. */
export async function reportHeartbeat({ alerting, logger }: Engine, isHealthy: boolean): Promise<void> {
  if (!alerting?.heartbeat) return;
  const error = await sendHeartbeat(alerting.heartbeat, isHealthy);
  if (error !== null)
    logger.warn({ event: 'heartbeat_url.failed', error }, `the heartbeat's URL was not reached: ${error}`);
}

/** Does the work of a tick, and says how it went. @throws what the work throws */
export async function withHeartbeat<T>(engine: Engine, work: () => Promise<T>): Promise<T> {
  let isHealthy = false;
  try {
    const result = await work();
    isHealthy = true;
    return result;
  } finally {
    await reportHeartbeat(engine, isHealthy);
  }
}
