// A relay between the suite and a gateway. The suite asks for prompts and resources by names of its own, which no skill of ours can have:
// the relay says them in ours, there and back, and changes nothing else.

import { createServer, request as send } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Names of the suite, and ours. */
const NAMES: readonly [theirs: string, ours: string][] = [
	['test_simple_prompt', 'test-simple-prompt'],
	['test_prompt_with_arguments', 'test-prompt-with-arguments'],
	['test_prompt_with_embedded_resource', 'test-prompt-with-embedded-resource'],
	['test_prompt_with_image', 'test-prompt-with-image'],
	['test_input_required_result_prompt', 'test-input-required-result-prompt'],
	['test://static-text', 'skill://conformance/static-text.txt'],
	['test://static-binary', 'skill://conformance/static-binary.png'],
	['test://watched-resource', 'skill://conformance/watched.txt'],
	['test://template/123/data', 'gatehouse://tools/123'],
];

const toOurs = (text: string): string => NAMES.reduce((said, [theirs, ours]) => said.replaceAll(theirs, ours), text);
const toTheirs = (text: string): string => NAMES.reduce((said, [theirs, ours]) => said.replaceAll(ours, theirs), text);

/** Starts the relay. @returns the URL of the gateway behind it */
export async function relayTo(gatewayUrl: string): Promise<{ url: string; close(): void }> {
	const { port, pathname } = new URL(gatewayUrl);
	const server = createServer(async (incoming, outgoing) => {
		const parts: Buffer[] = [];
		for await (const part of incoming) parts.push(part as Buffer);
		const body = toOurs(Buffer.concat(parts).toString());
		// The gateway is not to compress its answers, which are read here.
		const { 'content-length': _length, 'transfer-encoding': _coding, 'accept-encoding': _codings, ...headers } = incoming.headers;
		const name = headers['mcp-name'];
		const sent = { ...headers, ...(typeof name === 'string' && { 'mcp-name': toOurs(name) }), 'content-length': Buffer.byteLength(body) };
		const upstream = send({ port, host: '127.0.0.1', path: incoming.url, method: incoming.method, headers: sent }, async (answer) => {
			if (!/^application\/json/.test(answer.headers['content-type'] ?? '')) {
				outgoing.writeHead(answer.statusCode ?? 500, answer.headers);
				return answer.pipe(outgoing);
			}
			const got: Buffer[] = [];
			for await (const part of answer) got.push(part as Buffer);
			const said = toTheirs(Buffer.concat(got).toString());
			return outgoing.writeHead(answer.statusCode ?? 500, { ...answer.headers, 'content-length': Buffer.byteLength(said) }).end(said);
		});
		upstream.on('error', () => outgoing.destroy());
		outgoing.on('close', () => upstream.destroy());
		upstream.end(body);
	});
	await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
	// The server listens on TCP.
	const { port: own } = server.address() as AddressInfo;
	return {
		url: `http://127.0.0.1:${own}${pathname}`,
		close: () => {
			server.closeAllConnections();
			server.close();
		},
	};
}
