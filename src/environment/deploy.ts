// Which deploy this process is of, as its environment says.
import { checkDeploy } from '../model/deploys/deploys.js';

/** Variables in which platforms give a running app its commit or revision. */
const PLATFORMS = [
  'HEROKU_SLUG_COMMIT',
  'RENDER_GIT_COMMIT',
  'RAILWAY_GIT_COMMIT_SHA',
  'VERCEL_GIT_COMMIT_SHA',
  'KOYEB_GIT_SHA',
  'K_REVISION',
] as const;

const COMMIT = /^[0-9a-f]{40}$/;
/** Of a commit, so many characters are its name. */
const COMMIT_LENGTH = 12;

/**
 * `TOCK_DEPLOY`; else the commit or revision that the platform names, a commit by its first 12 characters;
 * null: neither. `TOCK_DEPLOY=off`: none, whatever the platform says.
 * @throws TockError TOCK_BAD_OPTION for a TOCK_DEPLOY that is no name
 */
export function deployOf(env: NodeJS.ProcessEnv): string | null {
  const stated = env['TOCK_DEPLOY']?.trim() ?? '';
  if (stated === 'off') return null;
  if (stated !== '') return checkDeploy(stated);
  const known = PLATFORMS.map(name => env[name]?.trim() ?? '').find(value => value !== '');
  if (known === undefined) return null;
  try {
    return checkDeploy(COMMIT.test(known) ? known.slice(0, COMMIT_LENGTH) : known);
  } catch {
    return null;
  }
}
