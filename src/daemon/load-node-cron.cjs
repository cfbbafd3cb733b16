// node-cron as CommonJS: its ES module asks for its own file when it is loaded, and an app that is bundled as
// one CommonJS file has none.
module.exports = require('node-cron');
