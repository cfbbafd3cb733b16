// Who acts: a person at the dashboard, the command line, the app, or an alert.

/** What somebody may do. Each role includes those before it. */
export type Role = 'view' | 'operate' | 'admin';

/** Somebody in whose name a Tock acts. */
export interface Operator {
  readonly name: string;
  readonly via: 'page' | 'cli' | 'api' | 'alert';
  readonly role: Role;
  /** Whether payloads, outputs and logs are shown to them. */
  readonly seesPayloads: boolean;
}

export const ROLES: readonly Role[] = ['view', 'operate', 'admin'];

/** Whether a role is enough where another one is needed. */
export function includesRole(role: Role, needed: Role): boolean {
  return ROLES.indexOf(role) >= ROLES.indexOf(needed);
}
