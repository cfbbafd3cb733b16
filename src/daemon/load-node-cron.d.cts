// The type of load-node-cron.cjs.
import cron = require('node-cron');
export = cron;
