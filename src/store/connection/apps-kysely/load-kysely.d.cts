// The type of load-kysely.cjs.
declare const loader: { load: () => unknown; readonly importLate: () => Promise<unknown> };
export = loader;
