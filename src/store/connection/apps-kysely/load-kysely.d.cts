// The type of load-kysely.cjs.
declare const loader: { load(): unknown };
export = loader;
