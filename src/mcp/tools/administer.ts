// What the role admin may do: freeze and thaw, limits of queues, settings of keys.
import { cappedText } from '../../model/run/match/run-match.js';
import { utcText } from '../../model/schedule/instant-text.js';
import { proposed } from '../confirm.js';
import { type Tool, takes, text, whole } from '../tool.js';
import { RATE } from './act.js';

const RAMP = text('what waits starts spread over this time afterwards, such as 5m', 20);
const CONFIRM = text('the token that the dry run answered', 40);

export const freeze: Tool<{
  readonly until: string;
  readonly note: string;
  readonly ramp?: string;
  readonly confirm?: string;
}> = {
  name: 'freeze',
  title: 'Freeze everything',
  role: 'admin',
  isDestructive: true,
  description:
    'Nothing starts on any host until then; what runs goes on. The first call is a dry run with a token to confirm it with.',
  input: takes(
    {
      until: text('when it ends by itself: a duration from now such as 20m, or an ISO instant', 40),
      note: text('why; shown wherever something waits for it'),
      ramp: RAMP,
      confirm: CONFIRM,
    },
    ['until', 'note'],
  ),
  call: async ({ tock }, args) => {
    const { runs, definitions, frozen } = await tock.status();
    const proposal = proposed({
      tool: 'freeze',
      args,
      found: frozen,
      lines: [
        `it would hold back ${definitions.scheduled} scheduled definitions and ${runs.waiting} waiting runs; ${runs.running} that run go on`,
        ...(frozen === null
          ? []
          : [
              `everything is frozen already until ${utcText(frozen.until)}: its end and note would be replaced`,
            ]),
      ],
    });
    if (proposal !== null) return proposal;
    const { until, note, ramp } = args;
    const done = await tock.freeze({ until, note, ...(ramp === undefined ? {} : { ramp }) });
    return { lines: [`everything is frozen until ${utcText(done.until)}`] };
  },
};

export const thaw: Tool<{ readonly ramp?: string; readonly confirm?: string }> = {
  name: 'thaw',
  title: 'End a freeze',
  role: 'admin',
  description:
    'What waits starts, over a ramp if one is given. The first call is a dry run with a token to confirm it with.',
  input: takes({ ramp: RAMP, confirm: CONFIRM }),
  call: async ({ tock }, args) => {
    const { frozen, runs } = await tock.status();
    if (frozen === null) return { lines: ['nothing is frozen'] };
    const lines = [`it would end the freeze of ${frozen.by}: ${cappedText(runs.waiting)} runs wait`];
    const proposal = proposed({ tool: 'thaw', args, found: frozen, lines });
    if (proposal !== null) return proposal;
    const { spread } = await tock.thaw(args.ramp === undefined ? {} : { ramp: args.ramp });
    return { lines: [`the freeze has ended; ${spread} runs are spread over the ramp`] };
  },
};

const orNull = (schema: Readonly<Record<string, unknown>>, description: string) => ({
  anyOf: [schema, { type: 'null' }],
  description: `${description}; null removes it; absent: as it is`,
});

interface QueueLimits {
  readonly queue: string;
  readonly concurrency?: number | null;
  readonly rate?: { readonly count: number; readonly per: string } | null;
  readonly window?: string | null;
  readonly timezone?: string;
  readonly until?: string;
}

export const setQueue: Tool<QueueLimits> = {
  name: 'set_queue',
  title: 'Set limits of a queue',
  role: 'admin',
  isDestructive: true,
  description:
    'Concurrency, rate and window hold over all hosts, from the next claim on. Running runs go on.',
  input: takes(
    {
      queue: text('its name'),
      concurrency: orNull(whole('', 0, 10_000), 'most runs at once; 0: none starts'),
      rate: orNull(RATE, 'most starts per period, such as { count: 100, per: "1m" }'),
      window: orNull({ type: 'string', maxLength: 20 }, 'hours in which runs may start: 23:00-06:00'),
      timezone: text('of the window', 60),
      until: text('in a queue that is in code: when this ends by itself, such as 2h', 40),
    },
    ['queue'],
  ),
  call: async ({ tock }, { queue, ...limits }) => {
    const { concurrency, rate, window, timezone } = await tock.queues.set(queue, limits);
    const words = [
      concurrency === null ? '' : `${concurrency} at once`,
      rate === null ? '' : `${rate.count} per ${rate.perMs} ms`,
      window === null ? '' : `only ${window} ${timezone}`,
    ].filter(Boolean);
    return { lines: [`queue ${queue}: ${words.join(', ') || 'no limits'}`] };
  },
};

interface KeyLimits {
  readonly key: string;
  readonly weight?: number | null;
  readonly limit?: number | null;
}

export const setKey: Tool<KeyLimits> = {
  name: 'set_key',
  title: 'Set weight and limit of a fair key',
  role: 'admin',
  description: 'For one key, such as a tenant, in place of what its jobs and queues say.',
  input: takes(
    {
      key: text('the key'),
      weight: orNull({ type: 'number', exclusiveMinimum: 0 }, 'its share beside the others'),
      limit: orNull(whole('', 1, 10_000), 'most of its runs at once'),
    },
    ['key'],
  ),
  call: async ({ tock }, { key, ...settings }) => {
    const { weight, limit } = await tock.keys.set(key, settings);
    return { lines: [`key ${key}: weight ${weight}, ${limit === null ? 'no limit' : `${limit} at once`}`] };
  },
};
