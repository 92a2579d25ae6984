// The versions that `If-Match` requires (RFC 9110 §13.1.1): the change is made when any of them is the version of the row.

import type { Request } from '@hapi/hapi';
import { asGatewayError, GatewayError } from '../contract/errors.ts';

declare module '@hapi/hapi' {
	interface PluginsStates {
		/** The version for which the handler runs: one that `If-Match` lists, or `any` without it; `none` when it lists none of ours. */
		requiredVersion?: number | 'any' | 'none';
	}
}

const LIST = /^(?:(?:W\/)?"[^"]*"|\s|,)*$/;
/** A comparison for changes is strong, so weak tags match nothing. */
const TAG = /(W\/)?"([^"]*)"/g;
/** A version, and the digest of the answer that showed it. */
const OWN = /^(\d{1,9})\.[\w-]{22}$/;
/** The handler runs for each, until one matches. */
const MAX_VERSIONS = 10;

/**
 * Returns the version required by `If-Match`; undefined when it requires none, or accepts any. The operation takes `If-Match`.
 * @throws precondition_failed when none is one of our tags: it can match nothing
 */
export function expectedVersion(request: Request): number | undefined {
	const { requiredVersion } = request.plugins;
	if (requiredVersion === undefined) throw new Error(`${request.route.path}: an operation that reads If-Match must declare it.`);
	if (requiredVersion === 'none')
		throw new GatewayError('precondition_failed', 'If-Match is not a version of this resource: send the ETag of an answer unchanged.');
	return requiredVersion === 'any' ? undefined : requiredVersion;
}

/** Runs a handler for each version that is listed, from the least: versions grow, so none can be passed over. A refusal has changed nothing. */
export async function forEachVersion<T>(request: Request, handler: (request: Request) => T | Promise<T>): Promise<T> {
	const header = request.raw.req.headers['if-match']?.trim() ?? '*';
	const versions = header === '*' ? [] : listedIn(header);
	for (const version of versions.slice(0, -1)) {
		request.plugins.requiredVersion = version;
		try {
			return await handler(request);
		} catch (thrown) {
			if (asGatewayError(thrown)?.code !== 'precondition_failed') throw thrown;
		}
	}
	request.plugins.requiredVersion = versions.at(-1) ?? (header === '*' ? 'any' : 'none');
	return handler(request);
}

function listedIn(header: string): number[] {
	const tags = LIST.test(header) ? [...header.matchAll(TAG)] : [];
	const own = tags.flatMap(([, weak, tag = '']) => (weak ? [] : (OWN.exec(tag)?.[1] ?? [])));
	const versions = [...new Set(own.map(Number))].toSorted((one, other) => one - other);
	if (versions.length <= MAX_VERSIONS) return versions;
	const message = `If-Match lists more than ${MAX_VERSIONS} versions.`;
	throw new GatewayError('validation_failed', message, { details: [{ path: 'header/if-match', message }] });
}
