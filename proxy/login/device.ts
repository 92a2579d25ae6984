// The device flow (RFC 8628): shows a code, and waits until its user has allowed the program in a browser.

import { spawn } from 'node:child_process';
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import type { StoredLogin } from '../credentials/file.ts';
import { UsageError } from '../gateway/address.ts';
import { Refusal } from '../gateway/refusals.ts';
import { type Answer, ask } from '../gateway/requests.ts';
import { isObject, type JsonObject } from '../wire/messages.ts';

const GRANT = 'urn:ietf:params:oauth:grant-type:device_code';
const CLIENT = 'gatehouse-proxy';
/** RFC 8628 §3.5: "slow_down … the interval MUST be increased by 5 seconds". */
const SLOWER_SECONDS = 5;

export interface DeviceOptions {
	say(line: string): void;
	/** Whether to open the page in a browser of this machine. */
	opens: boolean;
}

/** Logs in. @throws UsageError when the user did not allow it, Refusal when the service cannot do it */
export async function loginByDevice(serviceUrl: string, { say, opens }: DeviceOptions): Promise<StoredLogin> {
	const begun = await ask(serviceUrl, '/device/authorize', { form: { client_id: CLIENT, device_name: hostname() } });
	const { device_code: code, user_code: shown, verification_uri: page, verification_uri_complete: whole } = begun.body;
	if (begun.status !== 200 || typeof code !== 'string' || typeof shown !== 'string' || !isPage(page)) throw begun.refusal();
	say(`Open ${isPage(whole) ? whole : page}`);
	say(`and check that it shows the code ${shown}`);
	if (opens) openBrowser(isPage(whole) ? whole : page);
	return read(await wait(serviceUrl, code, begun.body));
}

/** Asks until the user has decided. An outage is waited out. */
async function wait(serviceUrl: string, code: string, { interval, expires_in: lifetime }: JsonObject): Promise<Answer> {
	let seconds = typeof interval === 'number' && interval > 0 ? interval : SLOWER_SECONDS;
	const end = Date.now() + (typeof lifetime === 'number' ? lifetime : 600) * 1000;
	while (Date.now() < end) {
		await sleep(seconds * 1000);
		const answer = await ask(serviceUrl, '/device/token', { form: { grant_type: GRANT, device_code: code, client_id: CLIENT } }).catch(
			waitOut,
		);
		if (answer === null) continue;
		const { error } = answer.body;
		if (error === 'authorization_pending' || answer.status >= 500 || answer.status === 429) continue;
		if (error === 'slow_down') {
			seconds += SLOWER_SECONDS;
			continue;
		}
		if (error === 'access_denied') throw new UsageError('The login was denied.');
		if (error === 'expired_token') break;
		return answer;
	}
	throw new UsageError('The code is over: log in again.');
}

function waitOut(error: unknown): null {
	if (error instanceof Refusal && error.kind === 'unreachable') return null;
	throw error;
}

function read({ status, body, refusal }: Answer): StoredLogin {
	const { access_token: token, key_id: keyId, email, organization } = body;
	if (status !== 200 || typeof token !== 'string') throw refusal();
	const { id, slug, name } = isObject(organization) ? organization : {};
	return {
		token,
		...(typeof keyId === 'string' && { keyId }),
		...(typeof email === 'string' && { email }),
		...(typeof id === 'string' && typeof slug === 'string' && { organization: { id, slug, name: String(name ?? slug) } }),
		createdAt: new Date().toISOString(),
	};
}

const isPage = (value: unknown): value is string => typeof value === 'string' && /^https?:\/\/[^\s"']+$/.test(value) && URL.canParse(value);

/** Opens a page; where there is no browser, the printed address is enough. */
function openBrowser(url: string): void {
	const [command, ...args] =
		process.platform === 'darwin'
			? ['open', url]
			: process.platform === 'win32'
				? ['rundll32', 'url.dll,FileProtocolHandler', url]
				: ['xdg-open', url];
	const child = spawn(command ?? '', args, { stdio: 'ignore', detached: true });
	child.on('error', () => undefined);
	child.unref();
}
