// From which address a request came: a Request does not say.
const addresses = new WeakMap<Request, string>();

export function noteAddress(request: Request, address: string | undefined): void {
  if (address !== undefined) addresses.set(request, address);
}

/** Empty where the request did not come over a socket of ours. */
export const addressOf = (request: Request): string => addresses.get(request) ?? '';
