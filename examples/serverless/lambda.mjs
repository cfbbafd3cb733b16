// AWS Lambda: called by EventBridge each minute, or by a URL behind API Gateway.
import { open } from './tock.mjs';

/** For the last statements, and for Lambda to take the answer. */
const RESERVE_MS = 2000;

export async function handler(event, context) {
  // IAM decides who may send this.
  if (event.source === 'aws.events' || event.source === 'aws.scheduler')
    return await open().tock.tick({ within: context.getRemainingTimeInMillis() - RESERVE_MS });
  const { http, domainName } = event.requestContext;
  const request = new Request(`https://${domainName}${http.path}`, {
    method: http.method,
    headers: event.headers,
  });
  const response = await open().tick(request);
  return {
    statusCode: response.status,
    headers: Object.fromEntries(response.headers),
    body: await response.text(),
  };
}
