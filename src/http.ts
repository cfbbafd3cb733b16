// `pg-tock/http`: a tick by HTTP, for platforms without processes of one's own. See docs/serverless.md.
export { type TickHandler, type TickHandlerOptions, tickHandler } from './tock/tick-handler.js';
