// What the tests of the login and consent pages share: a gateway, a client's callback, and a Chromium that is watched.

import { createServer, type RequestListener } from 'node:http';
import type { Browser, BrowserContextOptions, Locator, Page } from 'playwright-core';
import { openChromium } from '../helpers/chromium.ts';
import { authorizationUrl, type OAuthClient, type Person, pkce, registerClient } from '../helpers/oauth.ts';
import {
	type Account,
	publishGateway,
	registerAccount,
	startTestService,
	type TestService,
	type TestServiceOptions,
} from '../helpers/service.ts';

/** For what takes a second at most: a page that never comes is soon told. */
const WAIT_MS = 15_000;

export interface Scene {
	service: TestService;
	account: Account;
	gatewayId: string;
	/** Of the gateway. */
	url: string;
	chromium: Browser;
	callback: Listener;
	/** Sends its answers to `callback`, unless told otherwise. */
	register(metadata?: object): Promise<OAuthClient>;
	/** A browser of its own. */
	open(options?: BrowserContextOptions): Promise<Visit>;
	stop(): Promise<void>;
}

export interface Visit {
	page: Page;
	/** Dialogs, violations of the policy, and requests that leave the service from one of its pages. */
	troubles: string[];
	logIn(person?: Person): Promise<void>;
	close(): Promise<void>;
}

export async function openScene(options: TestServiceOptions = {}): Promise<Scene> {
	// First: where it has to be fetched, nothing is answered meanwhile.
	const chromium = await openChromium();
	const service = await startTestService(options);
	const account = await registerAccount(service.url);
	const { id: gatewayId, url } = await publishGateway(account, { auth: 'oauth2' });
	const callback = await listen();
	return {
		service,
		account,
		gatewayId,
		url,
		chromium,
		callback,
		register: (metadata = {}) => registerClient(url, { redirect_uris: [`${callback.origin}/callback`], ...metadata }),
		open: (options = {}) => openVisit(chromium, { service, account }, options),
		async stop() {
			await chromium.close();
			await callback.stop();
			await service.stop();
		},
	};
}

async function openVisit(
	chromium: Browser,
	{ service, account }: Pick<Scene, 'service' | 'account'>,
	options: BrowserContextOptions,
): Promise<Visit> {
	const context = await chromium.newContext(options);
	context.setDefaultTimeout(WAIT_MS);
	const page = await context.newPage();
	const troubles: string[] = [];
	page.on('dialog', (dialog) => {
		troubles.push(`dialog: ${dialog.message()}`);
		void dialog.dismiss();
	});
	page.on('console', (message) => {
		if (/Content Security Policy|Refused/.test(message.text())) troubles.push(message.text());
	});
	page.on('request', (request) => {
		const isLeaving = request.isNavigationRequest() && request.frame() === page.mainFrame();
		if (!isLeaving && page.url().startsWith(service.url)) troubles.push(`request: ${request.url()}`);
	});
	const logIn = async ({ email, password }: Person = account): Promise<void> => {
		await page.getByLabel('E-mail address').fill(email);
		await page.getByLabel('Password').fill(password);
		await page.getByRole('button', { name: 'Log in' }).click();
	};
	return { page, troubles, logIn, close: () => context.close() };
}

export interface Listener {
	origin: string;
	port: number;
	/** What was asked for, but for icons. */
	heard: URL[];
	stop(): Promise<void>;
}

/** Somebody else's site. Its usual answer to all is a page that says "arrived". */
export async function listen(answer?: RequestListener, host = '127.0.0.1'): Promise<Listener> {
	const heard: URL[] = [];
	const server = createServer((request, response) => {
		if (request.url === '/favicon.ico') return void response.writeHead(404).end();
		heard.push(new URL(request.url ?? '', `http://${request.headers.host}`));
		if (answer) return answer(request, response);
		response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><title>Client</title><h1>arrived</h1>');
	});
	await new Promise<void>((resolve, reject) => server.on('error', reject).listen(0, host, resolve));
	// A test that failed before it stopped it is not waited for.
	server.unref();
	const address = server.address();
	if (address === null || typeof address === 'string') throw new Error('no port');
	return {
		origin: `http://${host.includes(':') ? `[${host}]` : host}:${address.port}`,
		port: address.port,
		heard,
		async stop() {
			server.closeAllConnections();
			await new Promise((resolve) => server.close(resolve));
		},
	};
}

export const allowButton = (page: Page): Locator => page.getByRole('button', { name: 'Allow' });

/** At the consent page of a new client, logged in. */
export async function reachConsent(
	scene: Scene,
	visit: Visit,
	{ metadata = {}, parameters = {} }: { metadata?: object; parameters?: Record<string, string> } = {},
): Promise<string> {
	const url = askingUrl(scene.url, await scene.register(metadata), parameters);
	await visit.page.goto(url);
	await visit.logIn();
	await allowButton(visit.page).waitFor();
	return url;
}

/** Where a client sends its user now: another challenge each time. */
export const askingUrl = (url: string, client: OAuthClient, parameters: Record<string, string | null> = {}): string =>
	authorizationUrl(url, client, { code_challenge: pkce().challenge, ...parameters }).href;

/** The address to which the login page of such a request leads who forgot their password. */
export const forgottenUrl = (asking: string): string => asking.replace('/authorize?', '/authorize/forgotten-password?');
