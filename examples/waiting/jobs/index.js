import { publish, resize } from './album.js';
import { copyRows } from './copy-rows.js';
import { fetchExport } from './fetch-export.js';
import { shipOrder } from './ship-order.js';
import { trial } from './trial.js';

export const jobs = [copyRows, fetchExport, publish, resize, shipOrder, trial];
