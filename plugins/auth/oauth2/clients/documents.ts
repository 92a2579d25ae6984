// Reads clients that an https URL names and describes (draft-ietf-oauth-client-id-metadata-document, as MCP 2026-07-28 requires).

import { type Context, isObject } from '../../../../core/index.ts';
import { OAuthFault } from '../faults.ts';
import { tryParse } from '../json.ts';
import { digest } from '../secrets.ts';
import type { Client, ClientMethod } from './clients.ts';
import { parseFetchedUrl } from './fetched-urls.ts';
import { readClientMetadata } from './metadata.ts';
import { acceptedTexts, privateUseFault, redirectFault } from './redirect-uris.ts';

/** The accepted methods: none that is "based around a shared symmetric secret" (§4.1 of the draft). */
const METHODS: readonly ClientMethod[] = ['none', 'private_key_jwt'];
/** §6.6 of the draft recommends 5 KB. Anybody may name documents, each of which is kept for a while. */
const MAX_BYTES = 16 * 1024;
/** The documents of an organization that a process keeps. */
const MOST = 200;
const TIMEOUT_MS = 5000;
const KEPT_MS = 10 * 60_000;
/** The time for which a failed read is cached, so that nobody can make the service fetch without end. */
const REFUSED_MS = 60_000;
const NO_MORE = { allowedRedirectUris: [] };

/** Reads the client that a URL describes. @throws invalid_client, saying what is wrong with the document */
export const readClientDocument = (id: string, context: Context): Promise<Client> =>
	context.memo(
		`document:${digest(id)}`,
		KEPT_MS,
		async () => {
			const read = await tryDocument(id, context);
			if (read instanceof OAuthFault) throw new OAuthFault(read.error, read.description);
			return read;
		},
		{ most: MOST },
	);

/** Reads a document and returns a fault instead of throwing it, so that the fault is cached as well. */
const tryDocument = (id: string, context: Context): Promise<Client | OAuthFault> =>
	context.memo(
		`tried:${digest(id)}`,
		REFUSED_MS,
		() =>
			fetchDocument(id, context).catch((thrown: unknown) => {
				if (thrown instanceof OAuthFault) return thrown;
				throw thrown;
			}),
		{ most: MOST },
	);

async function fetchDocument(id: string, context: Context): Promise<Client> {
	assertDocumentId(id);
	const { status, body, headers } = await context
		.request({
			method: 'GET',
			url: id,
			headers: { accept: 'application/json' },
			maxRedirects: 0,
			maxBytes: MAX_BYTES,
			timeoutMs: TIMEOUT_MS,
		})
		.catch((cause: unknown) => {
			context.log.debug({ error: String(cause) }, 'client metadata document could not be fetched');
			throw bad('the client metadata document cannot be fetched');
		});
	if (status !== 200) throw bad('the client metadata document is not answered with 200');
	if (!/^application\/([\w.-]+\+)?json\b/i.test(headers['content-type'] ?? '')) throw bad('the client metadata document is not JSON');
	const document = tryParse(body);
	// "The client_id […] MUST match the URL of the document using a simple string comparison".
	if (!isObject(document) || document['client_id'] !== id) throw bad('the client metadata document is of another client_id');
	if ('client_secret' in document || 'client_secret_expires_at' in document) throw bad('a client metadata document must hold no secret');
	return toClient(id, document);
}

function toClient(id: string, document: Record<string, unknown>): Client {
	try {
		const metadata = readClientMetadata(document, { usual: 'none', taken: METHODS, redirectFault: documentFault });
		return { id, isDocument: true, secret: null, ...metadata, name: metadata.name || new URL(id).host };
	} catch (thrown) {
		throw thrown instanceof OAuthFault ? bad(`in the client metadata document, ${thrown.description}`) : thrown;
	}
}

/**
 * Checks a redirect URI of a document. A document is the same for every server and its client is not told which parts are accepted, so it
 * may name programs that this gateway does not redirect to; a request for one of them is refused by naming the URI.
 */
const documentFault = (uri: unknown): string | null => (privateUseFault(uri) === null ? null : redirectFault(uri, acceptedTexts(NO_MORE)));

/** Checks the form of the URL (§3 of the draft): https, a path, no fragment, no user name, no dot segments. */
function assertDocumentId(id: string): void {
	const url = parseFetchedUrl(id);
	if (!url || url.href !== id || url.pathname === '/' || id.includes('#'))
		throw bad('client_id must be an https URL with a path, written plainly');
}

const bad = (description: string): OAuthFault => new OAuthFault('invalid_client', description);
