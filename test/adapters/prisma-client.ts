// Adapters: a Prisma client of one model, as `prisma generate` writes it, less what no test uses: so no test needs the package
// `prisma`, which is large and downloads an engine of no use here. In: nothing. Out: the class.
// For another version of @prisma/client compare it with internal/class.ts, which this makes of a file with the schema below:
//   PRISMA_SCHEMA_ENGINE_BINARY=/bin/true npx prisma@7.10.0 generate --schema FILE
import type { PrismaPg } from '@prisma/adapter-pg';
import {
  type ClientOtherOps,
  type GetPrismaClientConfig,
  getPrismaClient,
} from '@prisma/client/runtime/client';

const SCHEMA = `
generator client {
  provider   = "prisma-client"
  output     = "./generated"
  engineType = "client"
  runtime    = "nodejs"
}
datasource db {
  provider = "postgresql"
}
model Invoice {
  id   Int    @id
  note String
  @@map("invoices")
}
`;
const MODELS = `{ "Invoice": { "dbName": "invoices", "schema": null, "fields": [
  { "name": "id", "kind": "scalar", "type": "Int" }, { "name": "note", "kind": "scalar", "type": "String" } ] } }`;

/** Not among the types of Node. */
const { Module } = Reflect.get(globalThis, 'WebAssembly') as { Module: new (code: Uint8Array) => unknown };
const loadCompiler = async (part: string) =>
  await import(`@prisma/client/runtime/query_compiler_fast_bg.postgresql.${part}`);

const config: GetPrismaClientConfig = {
  previewFeatures: [],
  clientVersion: '7.10.0',
  engineVersion: '0edf323efd1d98336f3f0a68684b56f689b900d3',
  activeProvider: 'postgresql',
  inlineSchema: SCHEMA,
  runtimeDataModel: { models: JSON.parse(MODELS), enums: {}, types: {} },
  // No nodes: each query of a model is planned for its values.
  parameterizationSchema: { strings: [], graph: 'AAAA' },
  compilerWasm: {
    getRuntime: async () => await loadCompiler('mjs'),
    getQueryCompilerWasmModule: async () =>
      new Module(Buffer.from((await loadCompiler('wasm-base64.mjs')).wasm, 'base64')),
    importName: './query_compiler_fast_bg.js',
  },
};

/** The part of an interactive transaction that tests use; its raw queries as Prisma declares them. */
interface Transaction extends Pick<ClientOtherOps, '$queryRawUnsafe'> {
  readonly invoice: {
    create(args: { data: { readonly id: number; readonly note: string } }): Promise<unknown>;
  };
}
interface Client extends Transaction {
  $transaction<T>(
    work: (tx: Transaction) => Promise<T>,
    options?: { readonly maxWait?: number; readonly timeout?: number },
  ): Promise<T>;
  $disconnect(): Promise<void>;
}

export const PrismaClient = getPrismaClient(config) as unknown as new (options: {
  readonly adapter: PrismaPg;
}) => Client;
