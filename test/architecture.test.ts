// The rooms and their direction, held by a test: who may import whom, what a room may not touch, how long a file may be.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

const ROOT = path.join(import.meta.dirname, '..');

interface Import {
  readonly from: string;
  /** A file of ours, from the root; or the name of a package. */
  readonly to: string;
  readonly isTypeOnly: boolean;
  /** By `import()`, where it is needed. */
  readonly isLate: boolean;
}

function filesBelow(folder: string): string[] {
  return readdirSync(path.join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter(name => /\.(?:tsx?|cjs)$/.test(name))
    .map(name => path.join(folder, name))
    .sort();
}

const read = (file: string) => readFileSync(path.join(ROOT, file), 'utf8');

/** Static and dynamic imports and re-exports. The code is formatted, so that each begins a line. */
const STATEMENT = /^(?:import|export)(\s+type)?\s[^;]*?from\s+'([^']+)'|^import\s+'([^']+)'/gm;
const DYNAMIC = /\b(?:import|require)\('([a-z@.][^']*)'\)/g;

/** The source of a module that is imported as `….js`. */
function sourceOf(name: string): string {
  const source = name.replace(/\.js$/, '.ts');
  return existsSync(path.join(ROOT, `${source}x`)) ? `${source}x` : source;
}

function importsOf(file: string): Import[] {
  const text = read(file);
  const resolve = (name: string) =>
    name.startsWith('.')
      ? sourceOf(path.join(path.dirname(file), name))
      : name.replace(/^(kysely|hono|@hono\/node-server|@modelcontextprotocol\/server)\/.+/, '$1');
  return [
    ...[...text.matchAll(STATEMENT)].map(([, type, named, bare]) => ({
      from: file,
      to: resolve(named ?? bare ?? ''),
      isTypeOnly: type !== undefined,
      isLate: false,
    })),
    ...[...text.matchAll(DYNAMIC)].map(([, name]) => ({
      from: file,
      to: resolve(name ?? ''),
      isTypeOnly: false,
      isLate: true,
    })),
  ];
}

const sources = filesBelow('src');
const jobs = filesBelow('jobs');
const imports = [...sources, ...jobs].flatMap(importsOf);
const told = (list: readonly Import[]) => list.map(({ from, to }) => `${from} -> ${to}`);

/** From the ground up. A room may import from itself and from the rooms below it. */
const FLOORS: readonly (readonly string[])[] = [
  ['model'],
  ['store', 'embedded', 'environment'],
  ['engine'],
  ['answers'],
  ['daemon'],
  ['tock'],
  ['runtime', 'index', 'adapters', 'testing', 'dashboard', 'relay', 'http', 'import', 'mcp'],
  ['tick', 'cli', 'isolated'],
];
const roomOf = (file: string) => (file.split(path.sep)[1] ?? '').replace(/\.tsx?$/, '');
const floorOf = (file: string) => FLOORS.findIndex(rooms => rooms.includes(roomOf(file)));

describe('the rooms', () => {
  it('are all on a floor', () => {
    expect(sources.filter(file => floorOf(file) < 0)).toEqual([]);
    expect(sources.length).toBeGreaterThan(50);
    expect(imports.length).toBeGreaterThan(200);
  });

  it('import only from below, and not from beside', () => {
    const inside = imports.filter(({ from, to }) => from.startsWith('src') && to.startsWith('src'));
    const wrong = inside.filter(
      ({ from, to }) => roomOf(from) !== roomOf(to) && floorOf(to) >= floorOf(from),
    );
    expect(told(wrong)).toEqual([]);
  });

  it('read through answers: no page asks the store, and no command its reads', () => {
    const rule: Readonly<Record<string, string>> = {
      dashboard: 'src/store/',
      mcp: 'src/store/',
      cli: 'src/store/reads/',
    };
    const wrong = imports.filter(({ from, to }) => to.startsWith(rule[roomOf(from)] ?? '\0'));
    expect(told(wrong)).toEqual([]);
  });

  it('load the dashboard where it is served only: tock start begins with the names of its variables', () => {
    const begun = new Set([path.join('src', 'cli', 'commands', 'processes', 'start.ts')]);
    for (const file of begun)
      for (const { from, to, isTypeOnly, isLate } of imports)
        if (from === file && !isTypeOnly && !isLate && to.startsWith('src')) begun.add(to);
    expect(begun.size).toBeGreaterThan(20);
    const pages = [...begun].filter(file => roomOf(file) === 'dashboard');
    expect(pages).toEqual(['src/dashboard/server/variables.ts']);
  });

  it('do not import in circles, types counted', () => {
    const next = new Map<string, string[]>();
    for (const { from, to } of imports) next.set(from, [...(next.get(from) ?? []), to]);
    const done = new Set<string>();
    const circles: string[] = [];
    const walk = (file: string, trail: readonly string[]) => {
      if (trail.includes(file)) circles.push([...trail.slice(trail.indexOf(file)), file].join(' -> '));
      if (done.has(file) || trail.includes(file)) return;
      for (const each of next.get(file) ?? []) walk(each, [...trail, file]);
      done.add(file);
    };
    for (const file of sources) walk(file, []);
    expect(circles).toEqual([]);
  });

  it('are entered by the jobs through the front door only', () => {
    const wrong = imports.filter(
      ({ from, to }) =>
        from.startsWith('jobs') && to.startsWith('src') && to !== path.join('src', 'index.ts'),
    );
    expect(told(wrong)).toEqual([]);
  });
});

/** The floors inside a room, from the ground up: its folders, and the files beside them. Types may come from above. */
const INNER_FLOORS: Readonly<Record<string, readonly (readonly string[])[]>> = {
  store: [
    ['connection'],
    ['definitions', 'partitions', 'audit'],
    ['schema', 'runs', 'figures'],
    ['alerts'],
    ['reads'],
  ],
  engine: [
    ['engine', 'tracing'],
    ['audit', 'metrics'],
    ['enqueue', 'materialize', 'retention', 'note-tick'],
    ['joins'],
    ['definitions', 'finalize', 'alerts', 'emit', 'groups', 'flows'],
    ['set-aside'],
    ['reap', 'claim', 'execute'],
    ['worker'],
    ['offer', 'webhooks'],
    ['run-tick', 'operate'],
    ['idle-tick'],
  ],
};

describe.each(Object.entries(INNER_FLOORS))('inside src/%s', (room, floors) => {
  const inner = (file: string) => (file.split(path.sep)[2] ?? '').replace(/\.tsx?$/, '');
  const floor = (file: string) => floors.findIndex(names => names.includes(inner(file)));
  const inRoom = (file: string) => file.startsWith(path.join('src', room) + path.sep);

  it('each file is on a floor, and no folder holds more than sixteen', () => {
    expect(sources.filter(file => inRoom(file) && floor(file) < 0)).toEqual([]);
    const counts = new Map<string, number>();
    for (const file of sources.filter(inRoom))
      counts.set(path.dirname(file), (counts.get(path.dirname(file)) ?? 0) + 1);
    expect([...counts].filter(([, count]) => count > 16)).toEqual([]);
  });

  it('imports come from below', () => {
    const wrong = imports.filter(
      ({ from, to, isTypeOnly }) =>
        inRoom(from) && inRoom(to) && !isTypeOnly && inner(from) !== inner(to) && floor(to) >= floor(from),
    );
    expect(told(wrong)).toEqual([]);
  });
});

describe('packages', () => {
  /** Which files may use a package at run time. */
  const allowed: Readonly<Record<string, (file: string) => boolean>> = {
    // What is imported from another scheduler's tables has its SQL beside what it means.
    kysely: file =>
      ['store', 'engine'].includes(roomOf(file)) ||
      /^src\/import\/(?:open-source|[\w-]+\/read-[\w-]+)\.ts$/.test(file),
    pg: file =>
      ['store', 'engine'].includes(roomOf(file)) ||
      file === path.join('src', 'embedded', 'embedded-client.ts'),
    'cron-parser': file => file === path.join('src', 'model', 'schedule', 'cron', 'load-cron-parser.cjs'),
    'node-cron': file => file === path.join('src', 'daemon', 'beat.ts'),
    pino: file => file === path.join('src', 'environment', 'logger.ts'),
    '@opentelemetry/api': file => file === path.join('src', 'engine', 'tracing', 'open-tracing.ts'),
    nodemailer: file => file === path.join('src', 'engine', 'alerts', 'channels', 'mail.ts'),
    '@modelcontextprotocol/server': file => file === path.join('src', 'mcp', 'load-sdk.ts'),
    commander: file => roomOf(file) === 'cli',
    'cli-table3': file => roomOf(file) === 'cli',
    yaml: file => file === path.join('src', 'cli', 'import', 'kubernetes.ts'),
    'ts-ics': file => file === path.join('src', 'import', 'ics', 'read-ics.ts'),
    cronstrue: file => file === path.join('src', 'dashboard', 'words', 'schedule-words.ts'),
    hono: file => roomOf(file) === 'dashboard',
    '@hono/node-server': file => roomOf(file) === 'dashboard',
    'rabbitmq-client': file => file === path.join('src', 'relay', 'rabbitmq.ts'),
    '@nats-io/transport-node': file => file === path.join('src', 'relay', 'jetstream.ts'),
    '@nats-io/jetstream': file => file === path.join('src', 'relay', 'jetstream.ts'),
  };

  it.each(Object.entries(allowed))('%s is used in its own room only', (name, mayUse) => {
    const users = imports.filter(
      ({ from, to, isTypeOnly }) => from.startsWith('src') && to === name && !isTypeOnly,
    );
    expect(users.length).toBeGreaterThan(0);
    expect(told(users.filter(({ from }) => !mayUse(from)))).toEqual([]);
  });

  it('are no others than these, where Tock itself is concerned', () => {
    const others = imports.filter(
      ({ from, to }) => from.startsWith('src') && !to.startsWith('src') && !to.startsWith('node:'),
    );
    expect(told(others.filter(({ to }) => !(to in allowed)))).toEqual([]);
  });
});

/** Code without comments and without what stands in quotes. */
const bare = (file: string) =>
  read(file).replace(/'(?:[^'\\\n]|\\.)*'|\/\*[\s\S]*?\*\/|\/\/.*$/gm, part =>
    part.startsWith("'") ? "''" : '',
  );

describe('time', () => {
  const HOST_CLOCK = /\bDate\.now\(|\bnew Date\(\)|\bDate\(\)/;

  it('is not asked of the host in model, store, engine and answers', () => {
    const asking = sources.filter(
      file => ['model', 'store', 'engine', 'answers'].includes(roomOf(file)) && HOST_CLOCK.test(bare(file)),
    );
    expect(asking).toEqual([]);
  });

  it('is asked of the database by tock.now() alone', () => {
    const other =
      /(?<![\w.])(?:now|clock_timestamp|statement_timestamp|transaction_timestamp)\(\)|\bcurrent_timestamp\b/;
    const asking = sources.filter(
      file =>
        ['store', 'engine', 'answers'].includes(roomOf(file)) &&
        other.test(read(file).replace(/^\s*(?:\/\/|\*).*$/gm, '')),
    );
    // The bookkeeping of migrations is there before tock.now() is; how far a host's clock is from the server's, a
    // snapshot's age, a replica's lag, the age of the server's statistics, and how long ago a worker reaped are not the
    // scheduler's time.
    expect(asking).toEqual([
      path.join('src', 'store', 'partitions', 'upkeep.ts'),
      path.join('src', 'store', 'reads', 'capacity.ts'),
      path.join('src', 'store', 'reads', 'figures.ts'),
      path.join('src', 'store', 'reads', 'replica-lag.ts'),
      path.join('src', 'store', 'runs', 'reap', 'reap-turn.ts'),
      path.join('src', 'store', 'schema', 'migrate.ts'),
    ]);
  });

  it('and chance are given to the model, never taken by it', () => {
    const impure = /\bMath\.random\(|\bperformance\b|\bsetTimeout\(|\bprocess\.env\b/;
    expect(sources.filter(file => roomOf(file) === 'model' && impure.test(bare(file)))).toEqual([]);
    const io = /^node:(?!crypto$)/;
    expect(told(imports.filter(({ from, to }) => roomOf(from) === 'model' && io.test(to)))).toEqual([]);
  });
});

describe('steady time', () => {
  // Each with the reason why real time has to pass there, whatever clock the engine has.
  const REAL: Readonly<Record<string, string>> = {
    'src/store/connection/hosts/': 'connections, which pg opens, for all that share a pool',
    'src/store/connection/shares/': 'the same',
    'src/engine/execute/shell/run-command.ts': 'the processes of a command, of which no engine is known',
    'src/engine/alerts/channels/command.ts': 'the same',
    'src/engine/execute/http/http-job.ts': 'a request to another server',
    'src/engine/alerts/channels/send.ts': 'the same',
    'src/engine/alerts/heartbeat.ts': 'the same',
  };
  const OWN =
    /\bperformance\b|(?<!\bclock\.)\bset(?:Timeout|Interval)\b|\bclear(?:Timeout|Interval)\b|\bAbortSignal\.timeout\b/;
  const SOURCES = /^node:(?:timers(?:\/promises)?|perf_hooks)$|\/system-clock\.ts$/;

  it('and timers are those of the clock that the engine and the database are handed', () => {
    const rooms = ['engine', 'daemon', 'store'];
    // A relay is a daemon; brokers and their consumers are elsewhere.
    const isHeld = (file: string) => rooms.includes(roomOf(file)) || path.dirname(file) === 'src/relay';
    const found = [
      ...sources.filter(file => OWN.test(bare(file))),
      ...imports.filter(({ to }) => SOURCES.test(to)).map(({ from }) => from),
    ].filter(isHeld);
    const reasonOf = (file: string) => Object.keys(REAL).find(name => file.startsWith(name));
    expect(found.filter(file => reasonOf(file) === undefined)).toEqual([]);
    // A reason that has become needless goes.
    expect(Object.keys(REAL).filter(name => !found.some(file => file.startsWith(name)))).toEqual([]);
  });
});

describe('a test', () => {
  // Each with the reason why time itself has to pass there.
  const PAUSES: Readonly<Record<string, string>> = {
    'test/support/until.ts': 'the one loop that waits for a condition',
    'test/support/memory-broker.ts': 'a broker that works in turns',
    'test/chaos/': 'faults and load come at random times',
    'test/ha/': 'faults and load come at random times',
    'test/relay/relay-fixture.ts': 'load: each attempt takes a moment',
    'test/daemon/woken.check.test.ts': 'a daemon that falls asleep looks once more a second later',
    'test/daemon/woken-by-schedules.check.test.ts': 'the same',
    'test/daemon/runs-end.check.test.ts': 'the same',
    'test/processes/tick.check.test.ts': 'the budget of another process runs out',
    'test/processes/lost-output.check.test.ts': 'the jobs of another process print again and again',
    'test/cli/commands/start-watch.check.test.ts': 'the jobs of another process wait for a file',
  };
  const PAUSE = /new Promise\b[^;]*\bsetTimeout\(|timers\/promises|Atomics\.wait/;

  it('waits for what it needs with `until`, and pauses nowhere else', () => {
    const found = filesBelow('test').filter(
      file => PAUSE.test(read(file)) && !file.endsWith('architecture.test.ts'),
    );
    const reasonOf = (file: string) => Object.keys(PAUSES).find(name => file.startsWith(name));
    expect(found.filter(file => reasonOf(file) === undefined)).toEqual([]);
    // A reason that has become needless goes.
    expect(Object.keys(PAUSES).filter(name => !found.some(file => file.startsWith(name)))).toEqual([]);
  });
});

describe('files', () => {
  it('can be read in one sitting', () => {
    const long = [...sources, ...jobs]
      // A list of names is looked up, and not read.
      .filter(file => file !== 'src/index.ts')
      .map(file => ({ file, lines: read(file).split('\n').length }))
      .filter(({ lines }) => lines > 500);
    expect(long).toEqual([]);
  });

  it('stand with at most seventeen others in a folder', () => {
    const counts = new Map<string, number>();
    for (const file of sources) counts.set(path.dirname(file), (counts.get(path.dirname(file)) ?? 0) + 1);
    expect([...counts].filter(([, count]) => count > 18)).toEqual([]);
  });

  it('begin by saying what they are', () => {
    const silent = [...sources, ...jobs].filter(file => !/^(?:#!.*\n)?\/\/ \S/.test(read(file)));
    expect(silent).toEqual([]);
  });

  it('have comments of at most 110 columns', () => {
    const wide = [...sources, ...jobs].flatMap(file =>
      read(file)
        .split('\n')
        .filter(line => /^\s*(?:\/\/|\*|\/\*)/.test(line) && line.length > 110)
        .map(line => `${file}: ${line.trim()}`),
    );
    expect(wide).toEqual([]);
  });

  it('are named in kebab-case', () => {
    expect(
      [...sources, ...jobs].filter(file => !/^[a-z0-9-]+\.(?:tsx?|cjs)$/.test(path.basename(file))),
    ).toEqual([]);
  });
});
