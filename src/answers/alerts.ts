// Alerts, as pages show them.

export type { AlertMute } from '../store/alerts/mutes.js';
export { listMutes } from '../store/alerts/mutes.js';
export {
  type AlertAbout,
  type AlertDelivery,
  type AlertFlip,
  type AlertRecord,
  type ChannelDelivery,
  countDownByRule,
  type DownCount,
  listAlerts,
  listDeliveries,
  listFlips,
} from '../store/alerts/records.js';
