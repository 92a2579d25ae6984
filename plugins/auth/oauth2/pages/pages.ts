// The pages on which a member logs in and decides about a client, and those that lead back from problems.

import type { Gateway, Reply, Scope, UserOrganization } from '../../../../core/index.ts';
import type { Choice } from '../choices.ts';
import { type Client, isDocumentId } from '../clients/clients.ts';
import { isLoopback, isPrivateUse, isProgram } from '../clients/redirect-uris.ts';
import { MEANINGS, MEANINGS_EVERYWHERE } from '../scopes.ts';
import { type Html, html, NOTHING, reply } from './html.ts';
import { clientIn, gatewayIn, organizationIn, shownInFull } from './names.ts';

/** The data of the request that a page is about, and the addresses that it links to. */
export interface Page {
	/** Null at an address over all organizations. */
	gateway: Readonly<Gateway> | null;
	client: Client;
	redirectUri: string;
	/** The path of the login page, to which its forms are posted. */
	action: string;
	/** The path of the page for a forgotten password. */
	forgotten: string;
	/** The client's redirect URI with `access_denied`, for users who cancel. */
	back: string;
}

/** The login page. @param isWrong the given address and password were refused */
export function loginPage(page: Page, given: { email?: string; alert?: string; isWrong?: boolean } = {}): Reply {
	const { email = '', alert, isWrong = false } = given;
	// After a refusal all fields but the password keep their values.
	const again = isWrong ? html` aria-invalid="true" aria-describedby="alert"` : NOTHING;
	const body = html`
<h1>Log in</h1>
<p>${wish(page)} Log in${page.gateway ? html` as a member of ${organizationIn(page.gateway)}` : NOTHING} to allow or deny it.</p>
${about(page)}
${alerting(alert)}
<form method="post" action="${page.action}">
<label for="email">E-mail address</label>
<input id="email" name="email" type="email" autocomplete="username" required value="${email}"${again}>
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" required${again}${email === '' ? NOTHING : html` autofocus`}>
<button name="action" value="login">Log in</button>
</form>
<p><a class="link" href="${page.forgotten}">Forgot your password?</a></p>
<p class="note">The program does not see your password, and gets nothing before you agree.</p>
${below(wayBack(page))}`;
	return reply({ status: isWrong ? 400 : 200, title: alert === undefined ? 'Log in' : 'Log in again' }, body);
}

interface Question {
	email: string;
	scopes: Scope[];
	slip: string;
	/** The reason for asking again. */
	alert?: string | undefined;
	/** The organizations of the user, of which one is allowed; empty at a gateway. */
	choices: readonly Choice[];
}

export function consentPage(page: Page, { email, scopes, slip, alert, choices }: Question): Reply {
	const names = choices.map(({ organization }) => organization).filter((one) => one !== null);
	const meanings = page.gateway ? MEANINGS : MEANINGS_EVERYWHERE;
	const body = html`
<h1>${wish(page, '')}</h1>
${alerting(alert)}
${about(page, email)}
<p>If you allow it, the program can:</p>
<ul>${scopes.map((scope) => html`<li>${meanings[scope]}</li>`)}</ul>
<p class="note">Anyone can give a program any name. Allow it only if you started this just now and know where you will be sent.</p>
<form method="post" action="${page.action}">
<input type="hidden" name="slip" value="${slip}">${choosing(names)}
<button name="action" value="allow">Allow</button>
<button name="action" value="deny" class="plain" formnovalidate>Deny</button>
</form>
${below(switchForm(page, 'link'))}`;
	return reply({ title: alert === undefined ? 'Allow or deny access' : 'Allow or deny access: not decided yet' }, body);
}

/** Lets the user choose one of several organizations, or names the only one. */
function choosing(organizations: readonly UserOrganization[]): Html {
	const [first, second] = organizations;
	if (!first) return NOTHING;
	const nameOf = ({ name, slug }: UserOrganization): Html => organizationIn({ organizationName: name, organizationSlug: slug });
	if (!second) return html`\n<p>It will work in ${nameOf(first)}, and nowhere else.</p>`;
	const options = organizations.map(
		(one) =>
			html`\n<label class="choice"><input type="radio" name="organization" value="${one.id}" required> ${nameOf(one)} <span class="note">${one.slug}</span></label>`,
	);
	return html`\n<fieldset>\n<legend>In which organization?</legend>${options}\n</fieldset>`;
}

/** The page for a logged-in user who is no member of this organization. */
export function strangerPage(page: Page, email: string): Reply {
	const { gateway } = page;
	const organization = gateway ? organizationIn(gateway) : html`an organization`;
	const body = html`
<h1>This account cannot decide</h1>
<p>${wish(page)} Only members of ${organization} can allow it.</p>
<p>You are logged in as <strong><bdi>${email}</bdi></strong>, who is not a member${gateway ? '' : ' of any'}. Use another account, or ask ${gateway ? organization : 'one'} to invite you.</p>
${switchForm(page, 'plain')}
${below(wayBack(page))}`;
	return reply({ status: 403, title: 'This account cannot decide' }, body);
}

export function forgottenPage(page: Page, { email = '', alert }: { email?: string; alert?: string } = {}): Reply {
	const again = alert === undefined ? NOTHING : html` aria-invalid="true" aria-describedby="alert" autofocus`;
	const body = html`
<h1>Reset your password</h1>
<p>Enter the e-mail address of your account, and we send you a mail with a link to choose a new password.</p>
${alerting(alert)}
<form method="post" action="${page.forgotten}">
<label for="email">E-mail address</label>
<input id="email" name="email" type="email" autocomplete="username" required value="${email}"${again}>
<button name="action" value="send">Send the mail</button>
</form>
<p><a class="link" href="${page.action}">Back to the login</a></p>
${below(wayBack(page))}`;
	return reply({ status: alert === undefined ? 200 : 400, title: 'Reset your password' }, body);
}

/** The page after a mail was requested: the same whether the account exists or not. */
export function sentPage(page: Page, email: string): Reply {
	const body = html`
<h1>Check your mail</h1>
<p>If there is an account with the address <strong><bdi>${email}</bdi></strong>, a mail is on its way to it.</p>
<ol>
<li>Open the link in the mail within an hour.</li>
<li>Choose a new password there.</li>
<li>Come back to this page and log in with it. If ${clientIn(page.client.name, 'the program')} has stopped waiting by then, connect it again.</li>
</ol>
<p class="note">No mail after a few minutes? It may be among the spam, or the account may have another address.</p>
<p><a class="button" href="${page.action}">Back to the login</a></p>
${below(wayBack(page))}`;
	return reply({ title: 'Check your mail' }, body);
}

/** The page for faults that cannot be sent to the client, since the request does not identify it or its address. */
export function faultPage(gateway: Readonly<Gateway> | null, description: string): Reply {
	const body = html`
<h1>This link does not work</h1>
<p>The program that sent you here asked for access to ${gatewayIn(gateway)} in a way that cannot be answered:</p>
<p class="alert" role="alert">${description}.</p>
<p>It was given no access. Close this page, go back to the program and connect it again.</p>
<p class="note">If that does not help, send this message to the maker of the program.</p>`;
	return reply({ status: 400, title: 'This link does not work' }, body);
}

/** The page for errors that are neither the client's fault nor an answer to it. */
export function troublePage(page: Page, { status, message }: { status: number; message: string }): Reply {
	const body = html`
<h1>This did not work</h1>
<p class="alert" role="alert">${message}</p>
<p>${clientIn(page.client.name, 'The program')} was given no access.</p>
<p><a class="button" href="${page.action}">Try again</a></p>
${below(wayBack(page))}`;
	return reply({ status, title: 'This did not work' }, body);
}

/** Redirects by a page instead of a status, so that the form's `form-action` does not apply to the target. */
export function leavingPage({ headers: { location = '', ...headers } = {} }: Reply): Reply {
	const refresh = html`<meta http-equiv="refresh" content="0;url=${location}">`;
	const { title, body } = isPrivateUse(location) ? toProgram(location) : onward(location);
	const page = reply({ title, head: refresh }, body);
	return { ...page, headers: { ...page.headers, ...headers } };
}

const onward = (location: string): { title: string; body: Html } => ({
	title: 'Sending you on',
	body: html`
<h1>Sending you on</h1>
<p><a href="${location}">Continue</a> if nothing happens.</p>`,
});

/** The page after a program was opened. It stays open, since browsers ask before they open the program. */
const toProgram = (location: string): { title: string; body: Html } => ({
	title: 'Back to the program',
	body: html`
<h1>Back to the program</h1>
<p>Your browser may ask whether to open it. If it does not open, <a href="${location}">open it here</a>.</p>
<p class="note">You can close this page then.</p>`,
});

/** The sentence that says which program wants access to which gateway. */
const wish = ({ client, gateway }: Page, end = '.'): Html =>
	html`${clientIn(client.name, 'A program')} wants access to ${gatewayIn(gateway)}${end}`;

const alerting = (text: string | undefined): Html =>
	text === undefined ? NOTHING : html`<p class="alert" role="alert" id="alert">${text}</p>`;

const below = (content: Html): Html => html`<div class="below">${content}</div>`;

const switchForm = (page: Page, look: 'link' | 'plain'): Html => html`
<form method="post" action="${page.action}">
<button name="action" value="switch" class="${look}">Use another account</button>
</form>`;

/** A link and not a redirect, so that a user is sent on only by choosing to. */
function wayBack({ back, redirectUri }: Page): Html {
	const where = isProgram(redirectUri) ? 'the program' : new URL(redirectUri).host;
	return html`<a class="link" href="${back}">Cancel and go back to ${where}</a>`;
}

/**
 * Lists the facts of a request. The address comes first, since it is certain and the name is only claimed. @param email the address of the
 * logged-in user
 */
function about({ client, redirectUri }: Page, email?: string): Html {
	const name = shownInFull(client.name);
	const said =
		name === ''
			? html`<dd>nothing: it gives no name</dd>`
			: html`<dd><q><bdi>${name}</bdi></q> <span class="note">(not checked)</span></dd>`;
	const described = isDocumentId(client.id) ? html`\n<dt>Described at</dt>\n<dd>${new URL(client.id).host}</dd>` : NOTHING;
	const visitor = email === undefined ? NOTHING : html`\n<dt>You are logged in as</dt>\n<dd><bdi>${email}</bdi></dd>`;
	return html`<dl>
<dt>You will be sent to</dt>
${destination(redirectUri)}
<dt>The program calls itself</dt>
${said}${described}${visitor}
</dl>`;
}

function destination(redirectUri: string): Html {
	const { protocol, host } = new URL(redirectUri);
	if (isPrivateUse(redirectUri)) {
		// A scheme has no owner: whichever program registered it on this computer is opened.
		const shown = host === '' ? protocol : `${protocol}//${host}`;
		return html`<dd class="host">${shown}</dd>\n<dd>a program on this computer <span class="note">(not checked)</span></dd>`;
	}
	return html`<dd class="host">${host}</dd>${isLoopback(redirectUri) ? html`\n<dd>a program on this computer</dd>` : NOTHING}`;
}
