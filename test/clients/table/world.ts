// The world of the table of clients: a gateway on one process or on two replicas that get its requests in turn, and an upstream that behaves badly.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, request as httpRequest, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createFixtureTools } from '../../conformance/tools.ts';
import { installPackages } from '../../helpers/packages.ts';
import { type Account, createHttpTool, must, publishGateway, registerAccount, startTestService } from '../../helpers/service.ts';
import type { Target } from './drivers.ts';

const PNG = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==', 'base64');
const BIG = JSON.stringify({ rows: Array.from({ length: 10_000 }, (_, id) => ({ id, text: 'x'.repeat(80) })) });

export interface World {
	/** The address behind which the replicas take turns, and a key of the gateway. */
	target: Target;
	/** Makes a further key. */
	newKey(): Promise<{ key: string; revoke(): Promise<void> }>;
	/** Assigns a tool that the gateway did not have. */
	assignTool(): Promise<void>;
	/** The calls that the upstream holds at the moment. */
	held(): number;
	/** Ends the replica that was started last, and starts another in its place. */
	restart(): Promise<void>;
	close(): Promise<void>;
}

/** @param replicas the number of processes that answer */
export async function openWorld(replicas: 1 | 2): Promise<World> {
	let held = 0;
	const upstream = await listen((request, response) => {
		const json = (text: string, status = 200): unknown => response.writeHead(status, { 'content-type': 'application/json' }).end(text);
		const path = request.url ?? '';
		const answers: Record<string, () => unknown> = {
			'/missing': () => json('{"error":"none"}', 404),
			'/broken': () => json('{"error":"down"}', 500),
			'/reset': () => response.destroy(),
			'/big': () => json(BIG),
			'/image': () => response.writeHead(200, { 'content-type': 'image/png' }).end(PNG),
			'/nothing': () => response.writeHead(204).end(),
			'/hang': () => {
				held += 1;
				response.once('close', () => {
					held -= 1;
				});
			},
		};
		(answers[path] ?? (() => json(JSON.stringify({ path }))))();
	});
	const packages = installPackages('conformance-plugin');
	const env = { GATEWAY_PLUGINS: packages.names.join(',') };
	const owner = await startTestService({ env });
	let last = await startTestService({ env, replicaOf: owner });
	const account = await registerAccount(owner.url);
	const { id, url, key } = await publishGateway(account, { toolIds: await makeTools(account, upstream.url) });
	const sure = await createHttpTool(account, { name: 'sure', url: `${upstream.url}/sure` });
	must(await account.post(`/gateways/${id}/tools`, { toolId: sure, confirm: 'always' }), 201);
	const greet = {
		name: 'greet',
		description: 'Greets.',
		body: 'Greet {{who}}.',
		arguments: [{ name: 'who', required: true, description: 'Who.' }],
	};
	must(await account.post(`/gateways/${id}/skills`, { skillId: must(await account.post('/skills', greet), 201).body.data.id }), 201);
	const targets = (): string[] => (replicas === 1 ? [last.url] : [owner.url, last.url]);
	const balancer = await listen(inTurn(targets));
	let made = 0;
	return {
		target: { url: balancer.url + new URL(url).pathname, key },
		async newKey() {
			const { data } = must(await account.post(`/gateways/${id}/auth/api-keys`, { name: 'more' }), 201).body;
			return { key: data.key, revoke: async () => void must(await account.del(`/gateways/${id}/auth/api-keys/${data.id}`), 200) };
		},
		async assignTool() {
			made += 1;
			const toolId = await createHttpTool(account, { name: `more_${made}`, url: `${upstream.url}/more` });
			must(await account.post(`/gateways/${id}/tools`, { toolId }), 201);
		},
		held: () => held,
		async restart() {
			await last.stop();
			last = await startTestService({ env, replicaOf: owner });
		},
		async close() {
			balancer.close();
			await last.stop();
			await owner.stop();
			packages[Symbol.dispose]();
			upstream.close();
		},
	};
}

async function makeTools(account: Account, url: string): Promise<string[]> {
	const parameters = { type: 'object', properties: { word: { type: 'string' } } };
	const ids = await createFixtureTools(account, [{ name: 'progress', behaviour: 'progress' }]);
	for (const name of ['echo', 'missing', 'broken', 'reset', 'big', 'image', 'nothing', 'hang'])
		ids.push(await createHttpTool(account, { name, url: `${url}/${name}`, ...(name === 'echo' && { parameters }) }));
	return ids;
}

interface Listening {
	url: string;
	close(): void;
}

async function listen(listener: RequestListener): Promise<Listening> {
	const server: Server = createServer(listener);
	server.listen(0, '127.0.0.1');
	await once(server, 'listening');
	// The server listens on TCP, so the address is not a pipe's name.
	const { port } = server.address() as AddressInfo;
	const close = (): void => {
		server.closeAllConnections();
		server.close();
	};
	return { url: `http://127.0.0.1:${port}`, close };
}

/** Passes each request on to the next of the targets. */
function inTurn(targets: () => readonly string[]): RequestListener {
	let turn = 0;
	return (request, response) => {
		const all = targets();
		turn += 1;
		const { method, headers, url = '/' } = request;
		const onward = httpRequest(new URL(url, all[turn % all.length] ?? assert.fail()), { method: method ?? 'GET', headers });
		onward.on('response', (answer) => {
			response.writeHead(answer.statusCode ?? 502, answer.headers);
			answer.on('error', () => response.destroy()).pipe(response);
		});
		onward.on('error', () => response.destroy());
		response.on('close', () => onward.destroy());
		request.pipe(onward);
	};
}
