// The `soap` executor: one message per call, by POST, as the SOAP importer described it.

import { GatewayError, type OutboundRequest, secretsAdded, type ToolExecutor } from '../../../core/index.ts';
import { config, type SoapConfig } from './config.ts';
import { messageHeaders, writeEnvelope } from './envelope.ts';
import { readResponse } from './response.ts';
import { signInMessage } from './security.ts';

export default {
	kind: 'executor',
	api: 1,
	name: 'soap',
	creatable: false,
	assertsFormats: true,
	summary: 'Calls an operation of a SOAP service: arguments are the members of its message.',
	spec: 'SOAP 1.1; SOAP 1.2; WS-Security UsernameToken Profile 1.1.1',
	config,
	async execute(args, given, call) {
		const { signal } = call;
		const schema = call.tool?.outputSchema ?? null;
		const unsigned: OutboundRequest = {
			method: 'POST',
			url: endpointOf(given, call.api?.baseUrl),
			headers: { ...lowerCased(given.headers), ...messageHeaders(given) },
			timeoutMs: given.timeoutMs,
			maxBytes: MAX_BYTES,
			signal,
		};
		// Written before anything is signed: a message that cannot be sent needs no credential.
		const plain = await writeEnvelope(given, args, '');
		if (given.wsSecurity === undefined) {
			const request = { ...unsigned, body: plain };
			const signed = await call.sign(request);
			return readResponse(await call.request(signed), given, { schema, secrets: secretsAdded(request, signed), signal });
		}
		const { token, request, secrets } = await signInMessage(unsigned, given.wsSecurity, (one) => call.sign(one));
		// A redirect would carry the password in the message to wherever it leads.
		const message = { ...request, body: await writeEnvelope(given, args, token), maxRedirects: 0 };
		return readResponse(await call.request(message), given, { schema, secrets, signal });
	},
} satisfies ToolExecutor<SoapConfig>;

/** The whole answer is kept as a tree, which takes some ten times as much memory. A model reads far less. */
const MAX_BYTES = 4 * 1024 * 1024;
/** The query of a base URL that was copied from the address of the document. */
const DOCUMENT_QUERY = /^\?(?:single)?wsdl$/i;

/** @throws validation_failed */
function endpointOf({ endpoint }: SoapConfig, baseUrl: string | undefined): string {
	if (endpoint !== undefined && !endpoint.startsWith('/')) return endpoint;
	const url = URL.parse(baseUrl ?? '');
	if (!url) throw new GatewayError('validation_failed', 'The tool has no API with a base URL to use as its endpoint.');
	if (endpoint !== undefined) return url.origin + endpoint;
	if (DOCUMENT_QUERY.test(url.search)) url.search = '';
	return url.href;
}

/** Lower-cases header names, so that none is sent twice, beside one of ours. */
function lowerCased(headers: Record<string, string> = {}): Record<string, string> {
	return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}
