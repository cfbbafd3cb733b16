// The `tracing` option of createTock.
import { TockError } from '../errors.js';
import { quote } from '../names.js';

/**
 * Whether spans are made with OpenTelemetry: `true` with the process's global provider, or with the given
 * provider, such as a NodeTracerProvider. Needs the package `@opentelemetry/api`.
 */
export type TracingOption =
  | boolean
  | {
      readonly getTracer: (name: string, version?: string) => unknown;
    };

/** Null: no spans. @throws TockError TOCK_BAD_OPTION */
export function readTracingOption(option: TracingOption | undefined): Exclude<TracingOption, false> | null {
  if (option === undefined || option === false) return null;
  if (option === true || typeof (option as { getTracer?: unknown } | null)?.getTracer === 'function')
    return option;
  throw new TockError(
    'TOCK_BAD_OPTION',
    `tracing ${quote(option)} is neither true, false nor a provider of OpenTelemetry, which has getTracer`,
  );
}
