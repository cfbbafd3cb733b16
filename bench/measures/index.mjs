// The measures, in the order in which they are taken.
import { throughput } from './throughput.mjs';

export const MEASURES = [throughput];
