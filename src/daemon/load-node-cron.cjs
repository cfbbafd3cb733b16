// node-cron as CommonJS: its ES module asks for its own file when it is loaded, which there is none of in an app that is
// bundled as one CommonJS file.
module.exports = require('node-cron');
