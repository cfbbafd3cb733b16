// A session whose server says of each walk of a claim that it was slow, as where many runs have ended since the last vacuum.
import type { Session } from '../../src/store/connection/database.js';

const SLOW_MS = 100;

/** `run` of a session, with that. @param onStatement called with the text of each statement before it is sent */
export function withSlowWalks(
  session: Session,
  onStatement: (text: string) => void = () => undefined,
): Session['run'] {
  return async <Row>(...statement: Parameters<Session['run']>) => {
    onStatement(statement[0]);
    const rows = await session.run<Row & { walk_ms?: number; walkMs?: number }>(...statement);
    for (const row of rows) {
      if (typeof row.walk_ms === 'number') row.walk_ms = SLOW_MS;
      if (typeof row.walkMs === 'number') row.walkMs = SLOW_MS;
    }
    return rows;
  };
}
