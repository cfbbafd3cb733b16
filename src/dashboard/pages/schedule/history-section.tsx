// Who changed a schedule, and when.
import type { View } from '../../view.js';

export function HistorySection(_: { readonly view: View; readonly name: string }) {
  return null;
}
