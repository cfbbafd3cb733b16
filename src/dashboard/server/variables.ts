// The environment variables of a dashboard with a server of its own. Commands that serve none load only this.

/** Each but the base path and the hosts has a twin with _FILE, which names a file. */
export const DASHBOARD_VARIABLES: Readonly<Record<string, string>> = {
  TOCK_DASHBOARD_USERS: 'who may use the dashboard: name:role:password, with the role view, operate or admin',
  TOCK_DASHBOARD_PROXY_SECRET: 'what a trusted proxy sends as x-tock-proxy-secret, beside x-forwarded-user',
  TOCK_DASHBOARD_BASE_PATH:
    'the path below which a proxy serves the dashboard, such as /tock (or --base-path)',
  TOCK_DASHBOARD_HOSTS: 'other names or origins by which the dashboard is reached, separated by commas',
  TOCK_DASHBOARD_METRICS_TOKEN: 'a bearer token that opens /metrics to Prometheus, and nothing else',
  TOCK_DASHBOARD_READ_URL: 'a replica from which the dashboard reads (default TOCK_READ_URL)',
};
