// The body of a broker's message.
import { MessageRefused } from '../broker.js';
import { asError } from './deadline.js';

/** @throws MessageRefused for what is nested thousands of levels deep */
export function encodeBody(body: object): Buffer {
  try {
    return Buffer.from(JSON.stringify(body), 'utf8');
  } catch (cause) {
    throw new MessageRefused(`the message cannot be written as JSON: ${asError(cause).message}`, { cause });
  }
}
