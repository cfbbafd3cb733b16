import { open } from '../../../../tock.mjs';

export const dynamic = 'force-dynamic';
// Vercel’s limit for this function, in seconds; the budget is less.
export const maxDuration = 60;
export const GET = request => open().tick(request);
