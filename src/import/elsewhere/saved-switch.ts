// What --switch keeps in a file, so that tock import undo can put it back.

export interface SavedSwitch {
  readonly system: 'pg_cron' | 'pg-boss';
  /** The name of the database that was changed. */
  readonly database: string;
  /** Null: pg_cron's is always the same. */
  readonly schema: string | null;
  /** As they were, each as JSON. */
  readonly rows: readonly string[];
}

const MARK = 'switched by tock import';

export function savedSwitchText({ system, database, schema, rows }: SavedSwitch): string {
  return `${JSON.stringify({ [MARK]: system, database, schema, rows }, null, 2)}\n`;
}

/** Null: the text is none, but perhaps a crontab. */
export function readSavedSwitch(text: string): SavedSwitch | null {
  if (!text.startsWith('{') || !text.includes(JSON.stringify(MARK))) return null;
  try {
    const read = JSON.parse(text) as Readonly<Record<string, unknown>>;
    const { [MARK]: system, database, schema, rows } = read;
    const isKnown = system === 'pg_cron' || system === 'pg-boss';
    const isText = Array.isArray(rows) && rows.every(row => typeof row === 'string');
    if (!isKnown || typeof database !== 'string' || !isText) return null;
    return { system, database, schema: typeof schema === 'string' ? schema : null, rows };
  } catch {
    return null;
  }
}
