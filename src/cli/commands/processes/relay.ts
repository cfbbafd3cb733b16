// `tock relay`: hands queues off to a message broker until a signal. Exit code 0 after a drain.
import type { Command } from 'commander';
import { type CurrentUrl, urlNow } from '../../../model/database/current-url.js';
import { TockError } from '../../../model/errors.js';
import type { Logger } from '../../../model/logger.js';
import { quote } from '../../../model/names.js';
import type { Broker } from '../../../relay/broker.js';
import { createRelay, type RelayFigures } from '../../../relay.js';
import { underCrashGuard } from '../../../runtime/crash-guard.js';
import { stopSignal } from '../../../runtime/stop-signal.js';
import { count, duration, examples, queues, withJson } from '../../flags/flags.js';
import { aborted, action, type CommonOptions, type Shell, withTock } from '../../shell.js';
import { cleanLine, paint } from '../../terminal.js';
import { noteMisspelt } from '../../unknown-names.js';

interface RelayFlags extends CommonOptions {
  readonly broker?: string;
  readonly queues?: string[];
  readonly lease?: string;
  readonly maxOutstanding?: number;
  readonly concurrency?: number;
  readonly prefix?: string;
  readonly pretty?: true;
}

export function addRelay(program: Command): Command {
  return withJson(program.command('relay'))
    .summary('hand queues off to a message broker until Ctrl-C')
    .description(
      'Publishes the due runs of these queues to RabbitMQ or NATS JetStream, and completes what consumers answer. From now on only workers that name these queues claim from them. If there are jobs, they are registered. Ctrl-C or SIGTERM waits for what is being published, then stops.',
    )
    .option(
      '--broker <url>',
      'amqp://user:password@host:5672 or nats://host:4222, several separated by commas (default TOCK_BROKER_URL)',
    )
    .option('--queues <a,b>', 'the queues to hand off (default TOCK_QUEUES)', queues)
    .option('--lease <duration>', 'how long a consumer has until its first answer (default 5m)', duration)
    .option(
      '--max-outstanding <n>',
      'claim no more while so many runs wait for an answer (default 10000)',
      count(1, 10_000_000),
    )
    .option(
      '--concurrency <n>',
      'maximum of runs that are being published at once (default 1000)',
      count(1, 10_000),
    )
    .option('--prefix <text>', 'begins the names of the broker’s queues (default tock)')
    .option('--pretty', 'readable logs instead of JSON lines (the default in a terminal)')
    .addHelpText(
      'after',
      examples(
        ['tock relay --broker amqp://relay@broker --queues mail', 'one queue, to RabbitMQ'],
        ['tock relay --queues mail,push --lease 1m', 'two queues, to the broker of TOCK_BROKER_URL'],
      ),
    )
    .action(action(relay));
}

async function relay(shell: Shell, flags: RelayFlags): Promise<number> {
  const { config } = shell;
  const chosen = flags.queues ?? config.queues;
  if (chosen === undefined)
    throw new TockError('TOCK_BAD_OPTION', 'name the queues to hand off, as in --queues mail');
  noteMisspelt(shell);
  const urls = flags.broker ?? config.brokerUrl;
  const { kind } = readUrls(urls);
  const stop = stopSignal();
  return await withTock(
    shell,
    {
      migrate: 'if-needed',
      needsJobs: config.jobsModule !== null,
      defaultLogLevel: 'info',
      pretty: flags.pretty === true || process.stderr.isTTY,
    },
    async ({ tock, where }) => {
      const broker = await openBroker(kind, () => readUrls(urls).urls, flags.prefix, tock.logger);
      try {
        return await underCrashGuard({ name: 'tock relay', tock, stop }, async () => {
          const { lease, maxOutstanding, concurrency } = flags;
          const started = await createRelay({
            tock,
            broker,
            queues: chosen,
            ...(lease === undefined ? {} : { lease }),
            ...(maxOutstanding === undefined ? {} : { maxOutstanding }),
            ...(concurrency === undefined ? {} : { concurrency }),
          });
          shell.document({ relay: started.id, where, broker: broker.name, queues: chosen });
          shell.say(
            `${paint('green', 'relaying')} ${chosen.map(cleanLine).join(', ')} from ${cleanLine(where)} to ${broker.name}. Ctrl-C stops it.`,
          );
          await Promise.race([aborted(stop), started.ended]);
          await started.stop();
          const cause = await started.ended;
          if (cause !== null) throw cause;
          shell.say(`stopped: ${figuresText(await started.figures())}`);
          return 0;
        });
      } finally {
        await broker.close();
      }
    },
  );
}

function figuresText({ published, completed, failed, refused, outstanding }: RelayFigures): string {
  const late = refused === 0 ? '' : `, ${refused} answered too late`;
  return `${published} published, ${completed} completed, ${failed} failed${late}; ${outstanding} wait for an answer`;
}

type Kind = 'rabbitmq' | 'nats';

/** One broker, at one or several addresses. Errors do not show them: they may hold a password. */
function readUrls(source: CurrentUrl | null): { readonly kind: Kind; readonly urls: string[] } {
  const given = urlNow(source ?? '');
  if (given.trim() === '')
    throw new TockError(
      'TOCK_BAD_OPTION',
      'name the broker: --broker amqp://user:password@host:5672, or nats://host:4222, or set TOCK_BROKER_URL',
    );
  const urls = given
    .split(/,(?=[a-z+]+:\/\/)/i)
    .map(url => url.trim())
    .filter(url => url !== '');
  const schemes = [...new Set(urls.map(url => /^([a-z+]+):\/\//i.exec(url)?.[1]?.toLowerCase() ?? ''))];
  if (schemes.every(scheme => scheme === 'amqp' || scheme === 'amqps')) return { kind: 'rabbitmq', urls };
  if (schemes.every(scheme => scheme === 'nats')) return { kind: 'nats', urls };
  const wrong = schemes.find(scheme => !['amqp', 'amqps', 'nats'].includes(scheme)) ?? schemes.join(' and ');
  throw new TockError(
    'TOCK_BAD_OPTION',
    `a broker's URL begins with amqp:// or amqps:// (RabbitMQ) or nats:// (NATS JetStream), not with ${quote(wrong)}`,
  );
}

async function openBroker(
  kind: Kind,
  urls: () => string[],
  prefix: string | undefined,
  logger: Logger | null,
): Promise<Broker> {
  const options = { ...(prefix === undefined ? {} : { prefix }), ...(logger === null ? {} : { logger }) };
  // Loaded only here: one of the two.
  if (kind === 'rabbitmq') {
    const { rabbitmq } = await import('../../../relay/rabbitmq.js');
    return rabbitmq({ url: urls, ...options });
  }
  const { jetstream } = await import('../../../relay/jetstream.js');
  return jetstream({ servers: urls, ...options });
}
