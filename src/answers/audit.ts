// The audit: who has changed what, newest first.
export { type AuditFilter, listAudit } from '../store/reads/audit.js';
