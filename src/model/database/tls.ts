// TLS to the database: what the URL asks for, and what to do where the server's certificate is refused.

const WARNED = /([?&]sslmode=)(?:prefer|require|verify-ca)(?=[&#]|$)/;

/**
 * For pg, `prefer`, `require` and `verify-ca` are other names of `verify-full`, and it warns of them in each
 * process. The same URL with that name; as it is where it asks for the weaker meaning of libpq.
 */
export function withVerifyFull(url: string): string {
  return /[?&]uselibpqcompat=true(?=[&#]|$)/.test(url) ? url : url.replace(WARNED, '$1verify-full');
}

/** What is wrong, as the end of a sentence that begins with a host; and what to do. */
export interface TlsTrouble {
  readonly reason: string;
  readonly remedy: string;
}

const UNKNOWN_ISSUER: TlsTrouble = {
  reason: 'has a certificate of an unknown issuer',
  remedy:
    'add sslmode=verify-full&sslrootcert=/path/to/root.crt to DATABASE_URL, or sslmode=no-verify to encrypt without checking who answers',
};

const BY_CODE: Readonly<Record<string, TlsTrouble>> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: UNKNOWN_ISSUER,
  SELF_SIGNED_CERT_IN_CHAIN: UNKNOWN_ISSUER,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNKNOWN_ISSUER,
  UNABLE_TO_GET_ISSUER_CERT: UNKNOWN_ISSUER,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNKNOWN_ISSUER,
  CERT_UNTRUSTED: UNKNOWN_ISSUER,
  CERT_SIGNATURE_FAILURE: UNKNOWN_ISSUER,
  CERT_HAS_EXPIRED: {
    reason: 'has a certificate that has expired',
    remedy: 'renew the certificate on the server, or set the clock of this machine',
  },
  CERT_NOT_YET_VALID: {
    reason: 'has a certificate that is not valid yet',
    remedy: 'set the clock of this machine, or make the certificate anew',
  },
  CERT_REVOKED: {
    reason: 'has a certificate that was revoked',
    remedy: 'install a new certificate on the server',
  },
  ERR_TLS_CERT_ALTNAME_INVALID: {
    reason: 'has a certificate of another host',
    remedy:
      'name the host in DATABASE_URL as the certificate names it, or put that name into the certificate',
  },
};

/** Of an error of pg or of Node's TLS; null: it is about something else. */
export function tlsTrouble(error: unknown): TlsTrouble | null {
  if (!(error instanceof Error)) return null;
  const { code } = error as { readonly code?: unknown };
  if (typeof code === 'string' && Object.hasOwn(BY_CODE, code)) return BY_CODE[code] ?? null;
  // Words of pg, in any language of the server.
  if (error.message === 'The server does not support SSL connections')
    return {
      reason: 'has no TLS',
      remedy: 'set ssl = on on the server, or sslmode=disable in DATABASE_URL',
    };
  if (typeof code === 'string' && /^ERR_(?:SSL|OSSL|TLS)_|^EPROTO$/.test(code))
    return {
      reason: 'does not agree on TLS',
      remedy:
        'check ssl_min_protocol_version and the certificates on the server, and sslmode in DATABASE_URL',
    };
  return null;
}
