// Loads cron-parser when an expression is first expanded: it brings luxon, which a tick with nothing due has
// no use for. CommonJS, since only that can load late without waiting, in a way that bundlers follow.
module.exports = {
  parse: (text, options) => require('cron-parser').CronExpressionParser.parse(text, options),
};
