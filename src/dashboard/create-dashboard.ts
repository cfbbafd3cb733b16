// createDashboard: the pages inside an app, which says who may look.
import type { CurrentUrl } from '../model/database/current-url.js';
import { TockError } from '../model/errors.js';
import { quote } from '../model/names.js';
import { ROLES, type Role } from '../model/operator.js';
import { checkOptions, optionNames } from '../model/options.js';
import type { Tock } from '../tock/types.js';
import type { Access } from './access/access.js';
import { readBasePath } from './access/base-path.js';
import { checkMetricsToken, withMetricsToken } from './access/metrics-token.js';
import { type Dashboard, openDashboard } from './open-dashboard.js';

/** Who looks at the pages, and what they may do. */
export interface Authorized {
  /** The name in the audit. */
  readonly user: string;
  readonly role: Role;
  /** Whether payloads, outputs and logs are shown to them. Default false. */
  readonly seesPayloads?: boolean;
}

/** What {@link createDashboard} takes. */
export interface DashboardOptions {
  /** Made by `createTock`. It stays the app's: the dashboard never closes it. */
  readonly tock: Tock;
  /**
   * Says who makes a request; null or undefined: it is refused, with a page and status 401.
   * Called for every request but those for `/healthz` and for style sheet and script, which show no data.
   */
  readonly authorize: (
    request: Request,
  ) => Authorized | null | undefined | Promise<Authorized | null | undefined>;
  /** Where the pages are, as browsers' addresses have it, such as `/admin/tock`. Default: the root. */
  readonly basePath?: string;
  /** URL of a replica from which all pages read. Default: the Tock's own database and pool. */
  readonly readConnectionString?: CurrentUrl;
  /**
   * Opens `/metrics`, and nothing else, to requests with `authorization: Bearer <token>`. At least 16
   * characters. Default: none; then `authorize` decides there too.
   */
  readonly metricsToken?: string;
  /** For users whom `authorize` refuses: how to sign in, in a sentence. */
  readonly signInHelp?: string;
}

const OPTIONS = optionNames<DashboardOptions>({
  tock: true,
  authorize: true,
  basePath: true,
  readConnectionString: true,
  metricsToken: true,
  signInHelp: true,
});

/**
 * Makes the dashboard of a Tock: pages, and forms that act. Loads and connects nothing before its first
 * request. Reads are read-only transactions of at most 5 s each.
 * @throws TockError TOCK_BAD_OPTION
 */
export function createDashboard(options: DashboardOptions): Dashboard {
  checkOptions(options, OPTIONS, 'createDashboard');
  const { tock, readConnectionString = null, basePath = '', metricsToken } = options;
  if (typeof options.authorize !== 'function') {
    throw new TockError(
      'TOCK_BAD_OPTION',
      'createDashboard needs authorize: a function of the request that returns { user, role }, or null for who may not look',
    );
  }
  const path = readBasePath(basePath, 'basePath');
  return openDashboard({
    tock,
    readConnectionString,
    basePath: path,
    access: withMetricsToken(
      accessOf(options),
      metricsToken === undefined ? null : checkMetricsToken(metricsToken, 'metricsToken'),
      path,
    ),
  });
}

function accessOf({ authorize, signInHelp }: DashboardOptions): Access {
  return {
    answersTo: null,
    origins: [],
    authorize: async request => {
      const answer = await authorize(request);
      if (answer === null || answer === undefined) return null;
      const { user, role, seesPayloads } = answer;
      if (typeof user !== 'string' || user === '' || !ROLES.includes(role)) {
        throw new TockError(
          'TOCK_BAD_OPTION',
          `authorize returned the user ${quote(user)} with the role ${quote(role)}; a role is ${ROLES.join(', ')}`,
        );
      }
      return { name: user, via: 'page', role, seesPayloads: seesPayloads === true };
    },
    howTo: signInHelp ?? 'Sign in to the application that this page belongs to, and come back.',
    challenge: null,
    signIn: null,
  };
}
