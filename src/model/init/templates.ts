// The texts that `tock init` writes.
import type { Language, ModuleKind } from './project.js';

/** How a file of the project is written. */
export interface Style {
  readonly language: Language;
  readonly moduleKind: ModuleKind;
}

// TypeScript is written as ECMAScript modules in either kind of package: its compiler makes of it what the
// package needs.
const writesRequire = ({ language, moduleKind }: Style) =>
  language === 'javascript' && moduleKind === 'commonjs';

function importOf(style: Style, name: string, from: string): string {
  return writesRequire(style) ? `const ${name} = require('${from}');` : `import ${name} from '${from}';`;
}

export function jobText(style: Style, timezone: string): string {
  const declared = writesRequire(style) ? 'const sayHello' : 'export const sayHello';
  return `// A first job: once a minute. \`npx tock run say-hello --wait\` executes it now.
${importOf(style, '{ defineJob }', 'pg-tock')}

${declared} = defineJob({
  name: 'say-hello',
  schedule: { cron: '* * * * *', timezone: '${timezone}' },
  retry: { maxAttempts: 3 },
  timeout: '30s',
  async run(ctx) {
    ctx.log.info({ due: ctx.scheduledFor }, 'hello from the first job');
    // What is returned is stored with the run; what is thrown too, and the run is tried again.
    return { said: 'hello', due: ctx.scheduledFor };
  },
});
${writesRequire(style) ? '\nmodule.exports = { sayHello };\n' : ''}`;
}

export function moduleText(style: Style): string {
  const exported = writesRequire(style)
    ? 'module.exports = { jobs: [sayHello] };'
    : 'export const jobs = [sayHello];';
  return `// The jobs of this project. Tock reads this module; TOCK_JOBS names it.
${importOf(style, '{ sayHello }', './say-hello.js')}

${exported}
`;
}

export function testText(style: Style): string {
  const imports = [
    ['assert', 'node:assert/strict'],
    ['{ test }', 'node:test'],
    ['{ openTestTock }', 'pg-tock/testing'],
    ['{ sayHello }', './say-hello.js'],
  ].map(([name = '', from = '']) => importOf(style, name, from));
  return `// The real engine, in a database of its own, with a clock that the test sets.
${imports.join('\n')}

test('says hello each minute', async () => {
  const kit = await openTestTock({ jobs: [sayHello], now: '2026-01-01T00:00:30Z' });
  try {
    const [run] = await kit.untilNext(sayHello);
    assert.equal(run?.status, 'succeeded');
    assert.deepEqual(run.output, { said: 'hello', due: '2026-01-01T00:01:00.000Z' });
  } finally {
    await kit.close();
  }
});
`;
}

export const EMBEDDED_LINES = `# Tock's database: a PostgreSQL of this project's own, in .tock/, for development. For another one, remove the next
# line and write DATABASE_URL=postgres://user:password@host:5432/database
TOCK_DATABASE=embedded
`;

export const jobsLine = (file: string): string => `# The module that exports the array \`jobs\`.
TOCK_JOBS=${file}
`;

export const DOCKERFILE = (install: string, hasLock: string): string => `# syntax=docker/dockerfile:1
FROM node:24-slim
WORKDIR /app
COPY package.json ${hasLock} ./
RUN ${install}
COPY . .
# As pid 1 it gets the signals, and lets running jobs end: give it time, \`docker stop --time 30\`.
USER node
CMD ["node", "node_modules/pg-tock/dist/cli.js", "start"]
`;

export const COMPOSE = (jobs: string): string => `services:
  database:
    image: postgres:18
    environment:
      POSTGRES_USER: tock
      POSTGRES_PASSWORD: tock
      POSTGRES_DB: tock
    volumes:
      - data:/var/lib/postgresql
    healthcheck:
      test: ["CMD-SHELL", "pg_isready --username tock"]
      interval: 2s
      retries: 30
  tock:
    build: .
    init: true
    restart: unless-stopped
    stop_grace_period: 45s
    environment:
      DATABASE_URL: postgres://tock:tock@database:5432/tock
      TOCK_JOBS: ${jobs}
    depends_on:
      database:
        condition: service_healthy
volumes:
  data:
`;
