// Runs MCP's own TypeScript clients, version 1 and 2, as a program uses them that signs in at servers: each with its memory, and with the
// user apart.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import {
	auth as authDual,
	Client as DualClient,
	StreamableHTTPClientTransport as DualTransport,
	UnauthorizedError as DualUnauthorized,
	type OAuthClientMetadata,
	type OAuthClientProvider,
	type OAuthDiscoveryState,
	type StoredOAuthClientInformation,
	type StoredOAuthTokens,
} from '@modelcontextprotocol/client';
import { auth, UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { METADATA, type Person, REDIRECT } from '../helpers/oauth.ts';
import { letIn, TOOL } from './oauth-clients.ts';

/** Name of the program, as its user reads it. */
export const NAME = 'Program of the tests';
const INFO = { name: 'gatehouse-test', version: '1.0.0' };

/** The state that a program keeps of one server, and the addresses to which it sent its user. */
export interface Memory extends OAuthClientProvider {
	client: StoredOAuthClientInformation | undefined;
	token: StoredOAuthTokens | undefined;
	/** Number of times that tokens were stored. */
	saved: number;
	/** Addresses to which the user was sent, in order. */
	asked: URL[];
}

export function createMemory(metadata: Partial<OAuthClientMetadata> = {}, clientMetadataUrl?: string): Memory {
	let verifier = '';
	let discovered: OAuthDiscoveryState | undefined;
	const memory: Memory = {
		client: undefined,
		token: undefined,
		saved: 0,
		asked: [],
		redirectUrl: REDIRECT,
		...(clientMetadataUrl !== undefined && { clientMetadataUrl }),
		clientMetadata: { ...METADATA, client_name: NAME, ...metadata },
		state: () => randomUUID(),
		clientInformation: () => memory.client,
		saveClientInformation(information) {
			memory.client = information;
		},
		tokens: () => memory.token,
		saveTokens(tokens) {
			memory.token = tokens;
			memory.saved += 1;
		},
		redirectToAuthorization(url) {
			memory.asked.push(url);
		},
		saveCodeVerifier(given) {
			verifier = given;
		},
		codeVerifier: () => verifier,
		saveDiscoveryState(given) {
			discovered = given;
		},
		discoveryState: () => discovered,
		invalidateCredentials(scope) {
			if (scope === 'all' || scope === 'tokens') memory.token = undefined;
			if (scope === 'all' || scope === 'client') memory.client = undefined;
		},
	};
	return memory;
}

export interface Session {
	/** @throws an error that `isUnauthorized` recognizes, when the user has been sent to the gateway's pages */
	connect(): Promise<void>;
	/** Finishes the authorization with the callback's address. */
	finish(callback: URL): Promise<void>;
	version(): string | undefined;
	listTools(): Promise<string[]>;
	/** @returns the text of the answer */
	callTool(): Promise<string>;
	close(): Promise<void>;
}

export interface Sdk {
	name: string;
	/** The revision of MCP that the client negotiates. */
	version: string;
	open(url: string, memory: Memory): Session;
	/** Begins an authorization for exactly this scope. */
	authorize(url: string, memory: Memory, scope: string): Promise<unknown>;
	isUnauthorized(thrown: unknown): boolean;
	/** Whether the client asks its user for further scopes by itself, although it could refresh. */
	stepsUp: boolean;
}

function openFirst(url: string, memory: Memory): Session {
	const client = new Client(INFO);
	const transport = new StreamableHTTPClientTransport(new URL(url), { authProvider: memory });
	return {
		// The SDK's own types disagree under exactOptionalPropertyTypes: its transport may have no session id.
		connect: () => client.connect(transport as Transport),
		finish: (callback) => transport.finishAuth(callback.searchParams.get('code') ?? ''),
		version: () => transport.protocolVersion,
		listTools: async () => (await client.listTools()).tools.map(({ name }) => name),
		callTool: async () => JSON.stringify(await client.callTool({ name: TOOL, arguments: {} })),
		close: () => client.close(),
	};
}

const openDual =
	(mode: 'legacy' | 'auto' | { pin: string }) =>
	(url: string, memory: Memory): Session => {
		const client = new DualClient(INFO, { versionNegotiation: { mode } });
		const transport = new DualTransport(new URL(url), { authProvider: memory });
		return {
			connect: () => client.connect(transport),
			// The address includes `iss`, which the client checks (RFC 9207).
			finish: (callback) => transport.finishAuth(callback.searchParams),
			version: () => client.getNegotiatedProtocolVersion(),
			listTools: async () => (await client.listTools()).tools.map(({ name }) => name),
			callTool: async () => JSON.stringify(await client.callTool({ name: TOOL, arguments: {} })),
			close: () => client.close(),
		};
	};

const dual = {
	authorize: (serverUrl: string, memory: Memory, scope: string) => authDual(memory, { serverUrl, scope }),
	isUnauthorized: (thrown: unknown) => thrown instanceof DualUnauthorized,
	stepsUp: true,
};

export const SDKS: readonly Sdk[] = [
	{
		name: '@modelcontextprotocol/sdk 1.32',
		version: '2025-11-25',
		open: openFirst,
		authorize: (serverUrl, memory, scope) => auth(memory, { serverUrl, scope }),
		isUnauthorized: (thrown) => thrown instanceof UnauthorizedError,
		// The client refreshes, gets the same scopes, and gives up at the second 403.
		stepsUp: false,
	},
	{ name: '@modelcontextprotocol/client 2.4, legacy', version: '2025-11-25', open: openDual('legacy'), ...dual },
	{ name: '@modelcontextprotocol/client 2.4, auto', version: '2026-07-28', open: openDual('auto'), ...dual },
];

/** A client that never asks which revision the server speaks. */
export const PINNED: Sdk = {
	name: '@modelcontextprotocol/client 2.4, 2026-07-28 only',
	version: '2026-07-28',
	open: openDual({ pin: '2026-07-28' }),
	...dual,
};

/** Returns the address to which the user was last sent. */
export const lastAsked = ({ asked }: Memory): URL => asked.at(-1) ?? assert.fail('the user was sent nowhere');

/**
 * Signs in: the client is refused, sends its user, and connects when they are back. A transport starts once, so the second try is another
 * session.
 */
export async function signInAt(sdk: Sdk, memory: Memory, { url, person }: { url: string; person: Person }): Promise<Session> {
	const refused = sdk.open(url, memory);
	await assert.rejects(refused.connect(), sdk.isUnauthorized);
	await refused.finish(await letIn(lastAsked(memory), person));
	await refused.close();
	const session = sdk.open(url, memory);
	await session.connect();
	return session;
}
