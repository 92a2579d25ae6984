// A client's session: reads its messages, answers what needs no gateway, and passes on the rest.

import { setMaxListeners } from 'node:events';
import { gatewayUrl } from '../gateway/address.ts';
import { WrongType } from '../gateway/catalog.ts';
import { GatewayClient } from '../gateway/client.ts';
import { namedOrganization } from '../gateway/organization.ts';
import { howToLogIn, Refusal } from '../gateway/refusals.ts';
import type { Settings } from '../settings.ts';
import {
	CODES,
	errorMessage,
	type JsonObject,
	type Message,
	MessageFault,
	type NotificationMessage,
	notification,
	type RequestMessage,
	readMessage,
} from '../wire/messages.ts';
import type { Send } from '../wire/output.ts';
import { failed, passed } from './answers.ts';
import { discover, initialize } from './beginning.ts';
import { type Context, LIMITS, type Limits } from './context.ts';
import { deadline } from './deadline.ts';
import { Discovery } from './discovery.ts';
import { Handshake } from './handshake.ts';
import { listen } from './listening.ts';
import { complete, getPrompt, listPrompts } from './prompts.ts';
import { Reach } from './reach.ts';
import { Relay } from './relay.ts';
import { MOST_RUNNING, Running, RunningRequests } from './running.ts';
import { subscribe } from './subscription.ts';
import { callTool, listTools } from './tools.ts';

type Method = (running: Running, context: Context, relay: Relay) => Promise<void>;

const METHODS: Readonly<Record<string, Method>> = {
	'tools/list': listTools,
	'tools/call': callTool,
	'prompts/list': listPrompts,
	'prompts/get': getPrompt,
	'completion/complete': complete,
	'subscriptions/listen': subscribe,
};
/** Methods that the gateway answers as they are. */
const PASSED = /^(resources|skills|subscriptions)\/[\w/]+$/;
const LISTS = /\/list$/;

export interface SessionParts {
	settings: Settings;
	send: Send;
	tell(sentence: string): void;
	limits?: Limits;
}

export class Session {
	readonly #context: Context;
	readonly #running = new RunningRequests();
	readonly #ending = new AbortController();
	readonly #discovery: Discovery;
	readonly #handshake: Handshake;
	readonly #relay: Relay;
	#isListening = false;
	/** Settles when what the gateway is has been found out, or cannot be now. */
	#begun: Promise<void> = Promise.resolve();

	constructor({ settings, send, tell, limits = LIMITS }: SessionParts) {
		// Each request under way listens to it.
		setMaxListeners(0, this.#ending.signal);
		const reach = new Reach(tell, () => this.#comeBack());
		const named = namedOrganization(settings, limits.discoveryMs);
		const client = new GatewayClient({
			url: gatewayUrl(settings.serviceUrl, settings.gateway),
			advice: howToLogIn(settings.serviceUrl),
			...{ token: settings.token, reload: settings.reload },
			organizationId: async () => (await named()) ?? settings.loginOrganization(),
			onRenewal: () => reach.renewed(),
			onAnswer: () => reach.answered(),
			onRefusal: (refusal) => reach.refused(refusal),
		});
		const catalog = (isFresh = false) => {
			client.renew();
			if (isFresh) this.#discovery.forget();
			return this.#discovery.get();
		};
		this.#context = { settings, client, limits, send, tell, ending: this.#ending.signal, catalog };
		this.#discovery = new Discovery(this.#context);
		this.#handshake = new Handshake(this.#context);
		this.#relay = new Relay(this.#context, this.#handshake);
	}

	/** Finds out what the gateway has. @throws WrongType, Refusal where it makes no sense to go on; requests under way are answered with it */
	async start(): Promise<void> {
		const started = this.#discovery.start();
		this.#begun = started.catch(() => undefined);
		try {
			await started;
		} catch (error) {
			const said = error instanceof Refusal || error instanceof WrongType ? error.message : String(error);
			await Promise.all(this.#running.all().map((running) => running.answer(errorMessage(running.request.id, CODES.internal, said))));
			throw error;
		}
	}

	/** Takes a line of the client. */
	receive(line: string): void {
		let message: Message;
		try {
			message = readMessage(line);
		} catch (error) {
			if (!(error instanceof MessageFault)) throw error;
			void this.#context.send(errorMessage(error.id, error.code, error.message));
			return;
		}
		if (message.kind === 'request') void this.#serve(message);
		else if (message.kind === 'response') void this.#relay.answer(message);
		else this.#notice(message);
	}

	/** Takes a line that is too long to be read. */
	refuseLine(): void {
		void this.#context.send(errorMessage(null, CODES.invalidRequest, 'The line is too long.'));
	}

	/** Ends the session: calls under way are cancelled at the gateway, as far as that takes no time. */
	async stop(): Promise<void> {
		const calls = this.#running.all().filter(({ isOver, request }) => !isOver && request.method === 'tools/call');
		const reason = new Refusal('stopped', 'The client has left.');
		this.#ending.abort();
		// Requests that need no gateway are still answered.
		await new Promise((resolve) => setImmediate(resolve));
		if (calls.length === 0) return;
		const parted = new Promise((resolve) => setTimeout(resolve, this.#context.limits.partingMs));
		await Promise.race([Promise.all(calls.map((running) => this.#relay.cancel(running, reason))), parted]);
	}

	async #serve(request: RequestMessage): Promise<void> {
		const { send } = this.#context;
		const { id, method } = request;
		if (method === 'ping') return send({ jsonrpc: '2.0', id, result: {} });
		if (this.#running.has(id)) return send(errorMessage(id, CODES.invalidRequest, 'A request with this id is under way.'));
		if (this.#running.size >= MOST_RUNNING)
			return send(errorMessage(id, CODES.internal, `More than ${MOST_RUNNING} requests are under way.`));
		const running = new Running(request, deadline(this.#timeOf(method), this.#ending.signal), send);
		this.#running.add(running);
		try {
			await this.#run(running);
		} catch (error) {
			if (!(error instanceof Refusal || error instanceof MessageFault || error instanceof WrongType))
				this.#context.tell(`A fault: ${error}`);
			if (error instanceof Refusal && error.kind === 'late') void this.#relay.cancel(running, error);
			await running.answer(failed(request, error));
		} finally {
			running.time.clear();
			this.#running.remove(id);
			await this.#relay.withdraw(running);
		}
	}

	#timeOf(method: string): number {
		const { discoveryMs, executionMs } = this.#context.limits;
		if (method === 'subscriptions/listen') return 2 ** 31 - 1;
		return LISTS.test(method) ? discoveryMs : executionMs;
	}

	async #run(running: Running): Promise<void> {
		const { request } = running;
		if (request.method === 'initialize') return initialize(running, this.#context, this.#handshake, this.#begun);
		if (request.method === 'server/discover') return discover(running, this.#context, this.#relay);
		const method = Object.hasOwn(METHODS, request.method) ? METHODS[request.method] : undefined;
		if (method) return method(running, this.#context, this.#relay);
		if (!PASSED.test(request.method))
			throw new MessageFault(CODES.methodNotFound, `There is no method "${request.method.slice(0, 64)}" here.`);
		await running.answer(passed(request, await this.#relay.pass(running)));
	}

	#notice({ method, params }: NotificationMessage): void {
		if (method === 'notifications/initialized' && !this.#isListening) {
			this.#isListening = true;
			void listen(this.#context, this.#handshake, () => this.#discovery.forget());
		}
		if (method !== 'notifications/cancelled') return;
		const { requestId } = params;
		const running = typeof requestId === 'string' || typeof requestId === 'number' ? this.#running.get(requestId) : undefined;
		// "The initialize request MUST NOT be cancelled by clients".
		if (!running || running.isOver || running.request.method === 'initialize') return;
		running.leave();
		void this.#relay.cancel(running, new Refusal('stopped', String(params['reason'] ?? 'The client cancelled it.').slice(0, 200)));
	}

	/** Tells the client to list again: its lists may be old by now. */
	#comeBack(): void {
		this.#discovery.forget();
		if (!this.#isListening) return;
		const lists = ['prompts', 'resources', ...(this.#context.settings.mode === 'full' ? ['tools'] : [])];
		const told: JsonObject[] = lists.map((list) => notification(`notifications/${list}/list_changed`));
		for (const message of told) void this.#context.send(message);
	}
}
