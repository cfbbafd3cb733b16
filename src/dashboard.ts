// The dashboard inside an app: `pg-tock/dashboard`.
export {
  type Authorized,
  createDashboard,
  type Dashboard,
  type DashboardOptions,
  type NodeListener,
} from './dashboard/create-dashboard.js';
export type { Role } from './model/operator.js';
