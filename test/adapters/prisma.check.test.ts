// Adapters: Prisma, without its engine in Rust, over node-postgres.
import { PrismaPg } from '@prisma/adapter-pg';
import { fromPrisma } from '../../src/adapters.js';
import { describeAdapter } from './adapter-contract.js';
import { PrismaClient } from './prisma-client.js';

describeAdapter('fromPrisma', async url => {
  const prisma = new PrismaClient({ adapter: new PrismaPg({ connectionString: url, max: 4 }) });
  return {
    transact: async work =>
      await prisma.$transaction(
        async tx =>
          await work(fromPrisma(tx), async (id, note) => {
            await tx.invoice.create({ data: { id, note } });
          }),
        { maxWait: 50_000, timeout: 50_000 },
      ),
    outside: fromPrisma(prisma),
    close: async () => await prisma.$disconnect(),
  };
});
