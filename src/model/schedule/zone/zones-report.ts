// What `tock zones` says: which time zone data hosts have, by which the stored times were computed, and what
// moves.

/** A host that ticks, and the release of its time zone data. */
export interface ZoneHost {
  readonly host: string;
  /** Such as `2025c`. */
  readonly zoneData: string;
  readonly at: Date;
}

/** What this host's newer data would change in a zone; its next tick does it. */
export interface ZonePreview {
  /** The first span in which the offsets differ. */
  readonly from: Date;
  readonly to: Date;
  /** How much later the same local time comes in that span, in milliseconds; negative: earlier. */
  readonly byMs: number;
  /** How many definitions have an occurrence in that span which keeps its local time. */
  readonly definitions: number;
  /** The first of their names. */
  readonly names: readonly string[];
  /** How many definitions are due at another time next. */
  readonly nextMoves: number;
}

/** The last change of a zone's offsets that was carried out. */
export interface ZoneLastChange {
  readonly from: string;
  readonly to: string;
  readonly at: Date;
  /** How many definitions were due at another time. */
  readonly definitions: number;
}

/** A time zone that definitions have had. */
export interface ZoneState {
  readonly timezone: string;
  /** The release by which its stored times were computed: the newest that any host has had. */
  readonly zoneData: string;
  /** Null: this host's data change nothing, or are older. */
  readonly preview: ZonePreview | null;
  readonly lastChange: ZoneLastChange | null;
}

/** The answer of `zones`. */
export interface ZonesReport {
  /** The release of this process; empty: unknown. */
  readonly zoneData: string;
  readonly hosts: readonly ZoneHost[];
  readonly zones: readonly ZoneState[];
}
