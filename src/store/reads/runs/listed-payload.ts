// The payload of a run in a list.
import { sql } from 'kysely';

/** PostgreSQL writes JSON with spaces, so this is about twice the usual limit of payloads. */
const MAX_BYTES = 2 * 1024 * 1024;

/** A note takes the place of a larger payload of the run `r`, so that it does not hide the others. */
export const LISTED_PAYLOAD =
  sql`case when pg_column_size(r.payload) > 16384 and octet_length(r.payload::text) > ${sql.lit(MAX_BYTES)}
  then jsonb_build_object('payloadLeftOut', 'it has ' || octet_length(r.payload::text) || ' bytes') else r.payload end`.as(
    'payload',
  );
