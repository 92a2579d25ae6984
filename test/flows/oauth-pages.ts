// Shared by the tests of the login and consent pages: a gateway, a client's callback, and a Chromium that is watched.

import { createServer, type RequestListener } from 'node:http';
import type { Browser, BrowserContextOptions, Locator, Page } from 'playwright-core';
import { openChromium } from '../helpers/chromium.ts';
import { PATIENCE_MS, until } from '../helpers/clock.ts';
import { authorizationUrl, type OAuthClient, type Person, pkce, registerClient } from '../helpers/oauth.ts';
import {
	type Account,
	publishGateway,
	registerAccount,
	type SharedService,
	sharedService,
	startTestService,
	type TestServiceOptions,
} from '../helpers/service.ts';

export interface Scene {
	service: SharedService;
	account: Account;
	gatewayId: string;
	/** URL of the gateway. */
	url: string;
	chromium: Browser;
	callback: Listener;
	/** Registers a client whose answers go to `callback` by default. */
	register(metadata?: object): Promise<OAuthClient>;
	/** Opens a new browser context. */
	open(options?: BrowserContextOptions): Promise<Visit>;
	stop(): Promise<void>;
}

export interface Visit {
	page: Page;
	/** Dialogs, violations of the policy, and requests from the service's pages to other origins. */
	troubles: string[];
	logIn(person?: Person): Promise<void>;
	close(): Promise<void>;
}

/** @param options of a service of its own, where the shared one does not suffice */
export async function openScene(options?: TestServiceOptions): Promise<Scene> {
	// The browser comes first: while it is downloaded, nothing else is answered.
	const chromium = await openChromium();
	const service = await (options ? startTestService(options) : sharedService());
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
	context.setDefaultTimeout(PATIENCE_MS);
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
	/** Addresses of the requests, except those for icons. */
	heard: URL[];
	stop(): Promise<void>;
}

/** The metadata of a client that proves itself, so that who has agreed to it is not asked again where a public one on the machine would be. */
export const WITH_SECRET = { token_endpoint_auth_method: 'client_secret_post' };

/** Starts a site of a third party. By default it answers with a page that says "arrived". */
export async function listen(answer?: RequestListener, host = '127.0.0.1'): Promise<Listener> {
	const heard: URL[] = [];
	const server = createServer((request, response) => {
		if (request.url === '/favicon.ico') return void response.writeHead(404).end();
		heard.push(new URL(request.url ?? '', `http://${request.headers.host}`));
		if (answer) return answer(request, response);
		response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><title>Client</title><h1>arrived</h1>');
	});
	await new Promise<void>((resolve, reject) => server.on('error', reject).listen(0, host, resolve));
	// A failed test that did not stop the server must not keep the process alive.
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

/** Logs in, and goes to the consent page of a new client. */
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

/** Builds the address to which a client sends its user, with a new challenge each time. */
export const askingUrl = (url: string, client: OAuthClient, parameters: Record<string, string | null> = {}): string =>
	authorizationUrl(url, client, { code_challenge: pkce().challenge, ...parameters }).href;

/** Returns the address that the login page of such a request offers for a forgotten password. */
export const forgottenUrl = (asking: string): string => asking.replace('/authorize?', '/authorize/forgotten-password?');

/** Waits until the page has the title. A page that is being left has none for a moment. */
export const untilTitled = (page: Page, title: string): Promise<void> => {
	let seen = '';
	const isTitled = async (): Promise<boolean> => {
		seen = await page.title().catch(() => '');
		return seen === title;
	};
	return until(isTitled, () => `the title “${title}”: “${seen}”`);
};
