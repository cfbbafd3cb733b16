// The type of load-cron-parser.cjs.
import type { CronExpressionParser } from 'cron-parser';

declare const parser: { readonly parse: typeof CronExpressionParser.parse };
export = parser;
