// Names that a shell completes; loaded by itself, since a person waits at the key.
export { type NameKind, readNames } from '../store/reads/names.js';
