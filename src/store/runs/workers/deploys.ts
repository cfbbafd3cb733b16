// Marks of deploys. What workers note of their own is in worker-rows.ts.
import { statement } from '../../connection/statement.js';

export const markDeploy = statement<
  {
    readonly name: string;
    readonly code: string;
    readonly at: string | null;
    readonly note: string | null;
    readonly by: string | null;
  },
  { readonly name: string }
>(
  'mark-deploy',
  `insert into tock.deploys as v (name, code, marked_at, marked_by, note)
values (:name, :code, coalesce(:at::timestamptz, tock.now()), coalesce(:by, session_user), :note)
on conflict (name) do update set marked_at = excluded.marked_at, marked_by = excluded.marked_by, note = excluded.note
returning v.name`,
);
