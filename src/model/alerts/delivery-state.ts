// What became of an alert's message to one channel, in the words of the command line and the dashboard.

export type DeliveryState = 'delivered' | 'on its way' | 'tried again later' | 'not delivered';

/** @param runStatus of the run that delivers it; null: it has been pruned */
export function deliveryState({
  deliveredAt,
  runStatus,
}: {
  readonly deliveredAt: Date | null;
  readonly runStatus: string | null;
}): DeliveryState {
  if (deliveredAt !== null) return 'delivered';
  if (runStatus === 'failed') return 'tried again later';
  return runStatus === 'queued' || runStatus === 'running' ? 'on its way' : 'not delivered';
}
