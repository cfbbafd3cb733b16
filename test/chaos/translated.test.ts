// Chaos: a server whose messages are in another language. Nothing is decided, and nothing advised, by their text.
// The embedded server has no translations.
import { beforeAll, describe, expect, it } from 'vitest';
import { createTock, defineJob, type TockError } from '../../src/index.js';
import { explainDatabaseError } from '../../src/store/connection/errors.js';
import { openClient } from '../support/embedded-database.js';
import { lacks } from '../support/needs.js';
import { openOnce } from '../support/open.js';
import { openDebianServer } from './debian-server.js';

const job = defineJob({ name: 'plain', run: () => 'done' });

describe.skipIf(lacks('postgresql-15', 'locales-all'))(
  'a server in German (needs Debian’s PostgreSQL 15 and the locale de_DE.UTF-8)',
  { timeout: 180_000 },
  () => {
    const server = openOnce(() => openDebianServer(['lc_messages=de_DE.UTF-8']));
    const admin = openOnce(() => openClient(server.url('postgres')));
    beforeAll(async () => {
      await admin.query(`create role stranger login password 'secret'`);
    });

    const opened = async <T>(url: string, work: (tock: ReturnType<typeof createTock>) => Promise<T>) => {
      const tock = createTock({ connectionString: url, jobs: [job], logger: false });
      try {
        return await work(tock);
      } finally {
        await tock.close();
      }
    };
    const refused = async (url: string, work: (tock: ReturnType<typeof createTock>) => Promise<unknown>) =>
      await opened(url, async tock => {
        const error: unknown = await work(tock).catch((cause: unknown) => cause);
        // As the programs say it.
        const { code, message } = explainDatabaseError(error, 'tock') as TockError;
        return `${code}: ${message}`;
      });
    const asStranger = () => server.url('postgres').replace('postgres:secret', 'stranger:secret');

    it('has its schema missing, where it is', async () => {
      const said = await refused(server.url('postgres'), tock => tock.tick());
      expect(said).toMatch(
        /^TOCK_NOT_MIGRATED: .*existiert nicht.*run: tock migrate; or createTock\(\{ migrate: true \}\)$/,
      );
    });

    it('executes runs, and refuses a second one with the same key', async () => {
      await opened(server.url('postgres'), async tock => {
        await tock.migrate();
        await tock.tick();
        const ids = [
          await tock.enqueue(job, null, { key: 'k' }),
          await tock.enqueue(job, null, { key: 'k' }),
        ];
        expect(ids[0]).toBe(ids[1]);
        await tock.tick();
        expect(await tock.runs.get(ids[0] ?? '')).toMatchObject({ status: 'succeeded', output: 'done' });
        expect((await tock.doctor()).checks.filter(({ level }) => level === 'unknown')).toEqual([]);
      });
    });

    it('says what a role lacks, as on any server', async () => {
      expect(await refused(asStranger(), tock => tock.enqueue(job, null))).toMatch(
        /^TOCK_FORBIDDEN: keine Berechtigung für Schema tock; docs\/database\.md, Roles, has what each role needs in schema tock/,
      );
      await admin.query('grant usage on schema tock to stranger');
      expect(await refused(asStranger(), tock => tock.tick())).toMatch(
        /^TOCK_FORBIDDEN: keine Berechtigung für Tabelle/,
      );
    });

    it('says what to check where it refuses a password', async () => {
      const url = server.url('postgres').replace('postgres:secret', 'postgres:wrong');
      expect(await refused(url, tock => tock.tick())).toMatch(
        /^TOCK_DATABASE_UNREACHABLE: .*Passwort-Authentifizierung.*check the user and password/,
      );
    });
  },
);
