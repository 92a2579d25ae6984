// Networks that a machine reaches without the Internet, for guards that let calls go there. Cloud metadata is in none of them: the guard
// refuses it whatever is opened.

import type { EgressPolicy } from './egress.ts';

/** Loopback, RFC 1918 and RFC 4193. */
const PRIVATE = ['127.0.0.0/8', '::1/128', '10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7'];

export const withPrivate = (policy: EgressPolicy): EgressPolicy => ({ ...policy, allow: [...policy.allow, ...PRIVATE] });
