// An A2A agent without a service: the plugin's own routes, over a call in memory.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { config as schema } from '../../adapters/a2a/config.ts';
import a2a from '../../adapters/a2a/index.ts';
import type { ContentBlock, Reply } from '../../core/index.ts';
import { type FakeCall, type FakeCallOptions, fakeCall } from '../../testing/index.ts';
import { fakeRequest } from '../../testing/samples.ts';

// biome-ignore lint/suspicious/noExplicitAny: tests read into answers whose shape is what they test
export type Any = any;

const object = (properties: object, required: string[] = []) => ({ type: 'object', properties, required }) as Any;
const image: ContentBlock = { type: 'image', data: 'AAAA', mimeType: 'image/png' };
export const TOOLS = [
	{
		...{ name: 'echo', description: 'Says it again.', parameters: object({ text: { type: 'string' } }, ['text']) },
		run: ({ text }: Any) => ({ content: [], structured: { text } }),
	},
	{ name: 'words', parameters: object({}), run: () => ({ content: [{ type: 'text' as const, text: 'two words' }] }) },
	{ name: 'picture', parameters: object({}), run: () => ({ content: [image] }) },
	{ name: 'fails', parameters: object({}), run: () => ({ content: [{ type: 'text' as const, text: 'no luck' }], isError: true }) },
	{ name: 'waits', parameters: object({}), run: () => new Promise<never>(() => {}) },
	{ name: 'large', parameters: object({}), run: () => ({ content: [], structured: { text: 'x'.repeat(700_000) } }) },
];

/** An agent, over both of its bindings. */
export class Agent {
	readonly #fake: FakeCall;
	readonly #config: Any;

	/** @param config of the gateway */
	constructor(options: FakeCallOptions = {}, config: object = {}) {
		this.#fake = fakeCall({ tools: TOOLS, allow: ['127.0.0.1'], ...options, plugin: a2a as Any });
		this.#config = schema.validate(config).value;
	}

	async #answer(method: string, path: string, more: { body?: unknown; query?: string; headers?: object; params?: object }): Promise<Reply> {
		const route = a2a.routes.find((one) => one.method === method && one.path === path) ?? assert.fail(`${method} ${path}`);
		const { body, query, headers, params = {} } = more;
		const request = fakeRequest({
			...{ method, path, query: new URLSearchParams(query), params: params as Any },
			headers: { 'content-type': 'application/json', ...headers },
			body: body === undefined ? null : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)),
		});
		return route.handler(request, this.#config, this.#fake.call as Any);
	}

	/** JSON-RPC, whatever the body. */
	async raw(body: unknown, headers: object = {}): Promise<Any> {
		const reply = await this.#answer('POST', '/', { body, headers });
		return { ...reply, body: read(reply) };
	}

	async rpc(method: string, params: object = {}, headers: object = { 'a2a-version': '1.0' }): Promise<Any> {
		const { body } = await this.raw({ jsonrpc: '2.0', id: 7, method, params }, headers);
		assert.equal(body.id ?? 7, 7);
		return body;
	}

	async result(method: string, params: object = {}): Promise<Any> {
		const { result, error } = await this.rpc(method, params);
		assert.equal(error, undefined, JSON.stringify(error));
		return result;
	}

	/** The code of an error, and its reason. */
	async code(method: string, params: object = {}, headers?: object): Promise<number> {
		const { error } = await this.rpc(method, params, headers);
		if (error.code > -32600 || error.code === -32603) assert.equal(error.data[0].domain, 'a2a-protocol.org');
		return error.code;
	}

	async rest(method: string, path: string, more: { body?: unknown; query?: string; headers?: object; params?: object } = {}): Promise<Any> {
		const reply = await this.#answer(method, path, more);
		return { ...reply, body: read(reply) };
	}

	async events(method: string, params: object): Promise<Any[]> {
		const body = (await this.rpc(method, params)) as AsyncIterable<{ data: Any }>;
		const events: Any[] = [];
		for await (const { data } of body) events.push(data.result ?? data.error);
		return events;
	}

	sendPart = async (part: object, more: object = {}): Promise<Any> =>
		(await this.result('SendMessage', { message: message([part], more) })).task;

	send = async (data: object, more: object = {}, configuration: object = {}): Promise<Any> =>
		(await this.result('SendMessage', { message: message([{ data }], more), configuration })).task;

	close = (): Promise<void> => this.#fake.close();
}

export const message = (parts: object[], more: object = {}) => ({ messageId: randomUUID(), role: 'ROLE_USER', parts, ...more });

const read = ({ body }: Reply): Any => (typeof body === 'string' || Buffer.isBuffer(body) ? JSON.parse(String(body)) : body);

/** An object of core with other members in place of its own. */
export const like = <T extends object>(one: T, other: Partial<T>): T =>
	new Proxy(one, {
		get(of, name) {
			if (Object.hasOwn(other, name)) return Reflect.get(other, name);
			const member: unknown = Reflect.get(of, name, of);
			return typeof member === 'function' ? member.bind(of) : member;
		},
	});
