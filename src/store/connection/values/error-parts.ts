// What lists, groups and messages say of a stored error: without its stacks, which are most of it.
import { MAX_COMPARED } from '../../../model/run/errors/error-group.js';

/** SQL for what the innermost cause or member of an error says; null: it has none. As `partsOf` finds it. */
export const innermostCause = (
  error: string,
) => `case when ${error} -> 'cause' is not null or ${error} -> 'errors' is not null then (
    with recursive inner_errors (said, depth) as (
      select coalesce(${error} -> 'cause', ${error} -> 'errors' -> 0), 1
      union all
      select coalesce(said -> 'cause', said -> 'errors' -> 0), depth + 1 from inner_errors where said is not null
    )
    select left(coalesce(nullif(said ->> 'message', ''), nullif(said ->> 'code', ''), said ->> 'name'), ${MAX_COMPARED})
    from inner_errors where said is not null order by depth desc limit 1) end`;

/** SQL for the `ErrorParts` of an error, as JSON. */
export const errorParts = (error: string) =>
  `jsonb_build_object('name', ${error} ->> 'name', 'message', left(${error} ->> 'message', ${MAX_COMPARED}), 'cause', ${innermostCause(error)})`;
