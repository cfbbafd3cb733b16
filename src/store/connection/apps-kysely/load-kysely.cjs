// Finds the app's kysely when a handler first uses the database: it is hundreds of files, and most processes
// need none. CommonJS, since only that can load a file late without waiting, in a way that bundlers follow.
//
// kysely 0.28 has its classes twice: an import finds the ES module, a require finds CommonJS. An app that
// imports Tock imports kysely too. For an app that requires Tock, the entries that scripts/build.mjs writes
// replace `load`. Test runners whose `require` takes no ES module may still import one: `importLate`.
module.exports = { load: () => require('./kysely.mjs'), importLate: () => import('./kysely.mjs') };
