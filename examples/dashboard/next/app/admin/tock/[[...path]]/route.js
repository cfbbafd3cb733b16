import { dashboard } from '../../../../../tock.mjs';

export const dynamic = 'force-dynamic';
export const GET = request => dashboard.fetch(request);
export const POST = request => dashboard.fetch(request);
