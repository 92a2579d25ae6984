// An OAuth client of a gateway, step by step, and the complete flow from its registration to its tokens.

import { createHash, randomBytes } from 'node:crypto';
import { type Browser, openBrowser, type Visited } from './browser.ts';
import { type Answer, must, send } from './service.ts';

export interface OAuthClient {
	id: string;
	secret: string | null;
	redirectUri: string;
}

export interface Person {
	email: string;
	password: string;
}

export const REDIRECT = 'http://127.0.0.1:7777/callback';

export const METADATA = {
	client_name: 'Probe',
	redirect_uris: [REDIRECT],
	grant_types: ['authorization_code', 'refresh_token'],
	response_types: ['code'],
	token_endpoint_auth_method: 'none',
};

/** Registers a client. @param url the gateway's URL */
export async function registerClient(url: string, metadata: object = {}): Promise<OAuthClient> {
	const { body } = must(await send(`${url}/register`, 'POST', { body: { ...METADATA, ...metadata } }), 201);
	return { id: body.client_id, secret: body.client_secret ?? null, redirectUri: body.redirect_uris[0] };
}

export function pkce(verifier = randomBytes(32).toString('base64url')): { verifier: string; challenge: string } {
	return { verifier, challenge: createHash('sha256').update(verifier).digest('base64url') };
}

/** Makes the URL to which a client sends its user. A parameter that is null is left out. */
export function authorizationUrl(url: string, client: OAuthClient, parameters: Record<string, string | null> = {}): URL {
	const asked = new URL(`${url}/authorize`);
	const usual = {
		response_type: 'code',
		client_id: client.id,
		redirect_uri: client.redirectUri,
		state: 'some state',
		code_challenge_method: 'S256',
	};
	for (const [name, value] of Object.entries({ ...usual, ...parameters })) if (value !== null) asked.searchParams.set(name, value);
	return asked;
}

/** Logs in and consents where the pages ask for it. @returns the URL to which the browser was redirected */
export async function approve(asked: URL, person: Person, browser: Browser = openBrowser()): Promise<Visited> {
	let page = await browser.open(asked);
	if (!page.left && page.html.includes('value="login"')) page = await browser.press(page, 'login', { ...person });
	return page.left || !page.html.includes('value="allow"') ? page : browser.press(page, 'allow');
}

/** Obtains a code. @returns the code, not yet redeemed, and its verifier */
export async function obtainCode(
	url: string,
	client: OAuthClient,
	person: Person,
	{ browser, parameters = {} }: { browser?: Browser; parameters?: Record<string, string | null> } = {},
): Promise<{ code: string; verifier: string }> {
	const { verifier, challenge } = pkce();
	const end = await approve(authorizationUrl(url, client, { code_challenge: challenge, ...parameters }), person, browser);
	const code = end.url.searchParams.get('code');
	if (!end.left || code === null) throw new Error(`No code came: ${end.status} ${end.url} ${end.html.slice(0, 2000)}`);
	return { code, verifier };
}

/** Sends a form, as the token and revocation endpoints take it. A field that is null is left out. */
export const sendForm = (url: string, fields: Record<string, string | null>, headers: Record<string, string> = {}): Promise<Answer> => {
	const given = Object.entries(fields).filter((field): field is [string, string] => field[1] !== null);
	return send(url, 'POST', {
		body: new URLSearchParams(given).toString(),
		headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
	});
};

export const redeem = (url: string, client: OAuthClient, { code, verifier }: { code: string; verifier: string }): Promise<Answer> =>
	sendForm(`${url}/token`, {
		grant_type: 'authorization_code',
		code,
		code_verifier: verifier,
		redirect_uri: client.redirectUri,
		client_id: client.id,
		client_secret: client.secret,
	});

export const refresh = (url: string, client: OAuthClient, token: string, fields: Record<string, string> = {}): Promise<Answer> =>
	sendForm(`${url}/token`, {
		grant_type: 'refresh_token',
		refresh_token: token,
		client_id: client.id,
		client_secret: client.secret,
		...fields,
	});

export interface TokenPair {
	access: string;
	refresh: string;
	client: OAuthClient;
}

/** Obtains tokens from nothing but the gateway's URL and a person who consents. */
export async function obtainTokens(url: string, person: Person, parameters: Record<string, string | null> = {}): Promise<TokenPair> {
	const client = await registerClient(url);
	const { body } = must(await redeem(url, client, await obtainCode(url, client, person, { parameters })), 200);
	return { access: body.access_token, refresh: body.refresh_token, client };
}
