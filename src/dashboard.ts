// The dashboard inside an app: `pg-tock/dashboard`.
export { type Authorized, createDashboard, type DashboardOptions } from './dashboard/create-dashboard.js';
export type { NodeListener } from './dashboard/node-listener.js';
export type { Dashboard } from './dashboard/open-dashboard.js';
export type { Role } from './model/operator.js';
