// The command `verify-audit`: checks the hash chains of the audit logs, and tells the first link of each that is not as it must be.

import { parseArgs } from 'node:util';
import type { AuditHead, AuditProof } from '../store/store.ts';

const USAGE = 'Usage: verify-audit [--expect <position>:<hash>] [<organization id>]';
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const HEAD = /^([1-9]\d{0,15}):([0-9a-f]{64})$/;

export interface AskedProof {
	organizationId?: string;
	expected?: AuditHead;
}

/** @throws Error with the usage for arguments that it does not know */
export function askedProof(args: readonly string[]): AskedProof {
	const { values, positionals } = parsed(args);
	const [organizationId, ...more] = positionals;
	if (more.length > 0 || (organizationId !== undefined && !UUID.test(organizationId))) throw new Error(USAGE);
	const [, position, hash = ''] = HEAD.exec(values.expect ?? '') ?? [];
	if (values.expect !== undefined && (position === undefined || organizationId === undefined)) throw new Error(USAGE);
	return {
		...(organizationId !== undefined && { organizationId }),
		...(position !== undefined && { expected: { position: Number(position), hash } }),
	};
}

function parsed(args: readonly string[]) {
	try {
		return parseArgs({ args: [...args], options: { expect: { type: 'string' } }, allowPositionals: true });
	} catch (cause) {
		throw new Error(USAGE, { cause });
	}
}

/** Says in a line how the chain of an organization is. */
export function describeProof({ organizationId, slug, links, head, unchained, broken }: AuditProof): string {
	const title = `${slug} (${organizationId})`;
	if (broken !== null) return `BROKEN  ${title}: ${broken}; ${links} links before it are right`;
	const end = head ? `${links} links, the last ${head.position}:${head.hash}` : 'no links';
	return `ok      ${title}: ${end}${unchained > 0 ? `, ${unchained} entries not linked yet` : ''}`;
}
