// Room: test support. OpenTelemetry with the SDK's exporter in memory.
// In: nothing. Out: a provider, the spans that have ended, and a context manager as the SDK for Node has it.
import { AsyncLocalStorage } from 'node:async_hooks';
import { type Context, type ContextManager, context, ROOT_CONTEXT } from '@opentelemetry/api';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';

/** What `AsyncLocalStorageContextManager` does, which is in a package of its own. */
export function asyncContextManager(): ContextManager {
  const storage = new AsyncLocalStorage<Context>();
  const manager: ContextManager = {
    active: () => storage.getStore() ?? ROOT_CONTEXT,
    with: (active, work, self, ...args) => storage.run(active, () => work.apply(self as never, args)),
    bind: (_active, target) => target,
    enable: () => manager,
    disable: () => manager,
  };
  return manager;
}

export interface Spans {
  readonly provider: BasicTracerProvider;
  /** Those that have ended, in that order. */
  readonly ended: () => readonly ReadableSpan[];
  readonly named: (name: string) => readonly ReadableSpan[];
  readonly clear: () => void;
  readonly close: () => void;
}

/** Sets the global context manager until `close`. */
export function collectSpans(): Spans {
  const exporter = new InMemorySpanExporter();
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  context.setGlobalContextManager(asyncContextManager());
  return {
    provider,
    ended: () => exporter.getFinishedSpans(),
    named: name => exporter.getFinishedSpans().filter(span => span.name === name),
    clear: () => exporter.reset(),
    close: () => context.disable(),
  };
}
