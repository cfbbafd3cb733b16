// What each example shares: the app's Tock, and its dashboard under /admin/tock.
import { createTock, defineJob } from 'pg-tock';
import { createDashboard } from 'pg-tock/dashboard';

const greet = defineJob({ name: 'greet', run: () => 'hello' });

export const tock = createTock({ connectionString: process.env.DATABASE_URL, jobs: [greet] });

/** Who is signed in, as this app knows it. Here: whoever has the cookie that the app's own sign-in page sets. */
function userOf(request) {
  const [, session] = /(?:^|; )session=([^;]*)/.exec(request.headers.get('cookie') ?? '') ?? [];
  return session === process.env.SESSION ? { name: 'mia@example.com', isAdmin: true } : null;
}

export const dashboard = createDashboard({
  tock,
  basePath: '/admin/tock',
  authorize(request) {
    const user = userOf(request);
    return user?.isAdmin ? { user: user.name, role: 'admin', seesPayloads: true } : null;
  },
});

export const port = Number(process.env.PORT);
