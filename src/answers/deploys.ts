// Deploys, as pages and commands show them.
export { listDeploys } from '../store/reads/runs/deploys.js';
