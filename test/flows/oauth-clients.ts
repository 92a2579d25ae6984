// Shared by the tests of real OAuth clients: a gateway of which they know only the URL, one tool behind it, and the user who lets them in.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { type PetsApi, startPets } from '../clients/pets.ts';
import { approve, type Person } from '../helpers/oauth.ts';
import {
	type Account,
	createHttpTool,
	must,
	publishGateway,
	registerAccount,
	type SharedService,
	sharedService,
} from '../helpers/service.ts';
import { LOOPBACK_CERTIFICATE, trusting } from '../helpers/upstream.ts';

/** The name of the one tool, and the answer of its upstream. */
export const TOOL = 'getTom';
export const ANSWER = /Tom/;

export interface Stage {
	service: SharedService;
	/** The gateway's owner, who is also the user whom clients send to it. */
	account: Account;
	/** URL of the gateway. */
	url: string;
	gatewayId: string;
	stop(): Promise<void>;
}

/** @param own service of the file, where the shared one does not suffice */
export async function openStage(own?: SharedService): Promise<Stage> {
	const pets: PetsApi = await startPets();
	const service = own ?? (await sharedService());
	const account = await registerAccount(service.url);
	const toolId = await createHttpTool(account, { name: TOOL, url: `${pets.origin}/pets/good` });
	const gateway = await publishGateway(account, { auth: 'oauth2', toolIds: [toolId] });
	return {
		service,
		account,
		url: gateway.url,
		gatewayId: gateway.id,
		async stop() {
			await service.stop();
			pets.close();
		},
	};
}

/** Logs the user in and agrees. @returns the address of the client's callback */
export async function letIn(asked: URL, person: Person): Promise<URL> {
	const { left, url, status, html } = await approve(asked, person);
	assert.ok(left, `the user was sent nowhere: ${status} ${html.slice(0, 2000)}`);
	assert.equal(url.searchParams.get('state'), asked.searchParams.get('state'));
	return url;
}

export interface ShownGrant {
	grantId: string;
	clientId: string;
	clientName: string;
	scopes: string[];
	accessTokens: { id: string; scopes: string[] }[];
}

/** Returns the grants as the gateway's owners see them, in order of creation. */
export async function grantsOf({ account, gatewayId }: Stage, clientId?: string): Promise<ShownGrant[]> {
	const { grants } = must(await account.get(`/gateways/${gatewayId}/oauth/grants?limit=100`), 200).body.data;
	return clientId === undefined ? grants : grants.filter((grant: ShownGrant) => grant.clientId === clientId);
}

/** Ends all access tokens of a client, so that it has to refresh. @returns how many there were */
export async function endAccessTokens(stage: Stage, clientId: string): Promise<number> {
	let count = 0;
	for (const { grantId, accessTokens } of await grantsOf(stage, clientId)) {
		for (const { id } of accessTokens) {
			must(await stage.account.del(`/gateways/${stage.gatewayId}/oauth/grants/${grantId}/tokens/${id}`), 200);
			count += 1;
		}
	}
	return count;
}

const KEY = readFileSync(new URL('../fixtures/tls/loopback.key.pem', import.meta.url));

export interface ClientDocument {
	/** Address of the document, which is the client's id. */
	url: string;
	/** Number of requests for the document. */
	requests(): number;
	[Symbol.dispose](): void;
}

/**
 * Publishes a client's document over https on this machine. This process, which includes the service, trusts its certificate until it is
 * closed.
 */
export async function publishClientDocument(metadata: object): Promise<ClientDocument> {
	let count = 0;
	let url = '';
	const server = createServer({ key: KEY, cert: LOOPBACK_CERTIFICATE }, (_request, response) => {
		count += 1;
		response.setHeader('content-type', 'application/json').end(JSON.stringify({ client_id: url, ...metadata }));
	});
	await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
	// The server listens on TCP, so the address is not the name of a pipe.
	url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/client.json`;
	const distrust = trusting(LOOPBACK_CERTIFICATE);
	return {
		url,
		requests: () => count,
		[Symbol.dispose]() {
			distrust();
			server.closeAllConnections();
			server.close();
		},
	};
}
