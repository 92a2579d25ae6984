// The script of the page. All text from elsewhere is set as text, never as HTML.

export const SCRIPT = `'use strict';
const at = (id) => document.getElementById(id);
const forms = ['code', 'login', 'consent', 'done'];
let code = new URLSearchParams(location.search).get('user_code') ?? '';
let organizations = [];

function show(name) {
	for (const form of forms) at(form).hidden = form !== name;
	at(name).querySelector('input:not([type=radio]), button')?.focus();
}

function tell(text) {
	at('alert').textContent = text;
	at('alert').hidden = text === '';
}

async function ask(method, path, body, organization) {
	const headers = { accept: 'application/json' };
	if (body) headers['content-type'] = 'application/json';
	if (organization) headers['x-organization-id'] = organization;
	const response = await fetch(path, { method, headers, body: body && JSON.stringify(body) });
	const answer = await response.json().catch(() => ({}));
	return { status: response.status, data: answer.data, message: answer.message ?? 'The service did not answer as expected.' };
}

const loginPath = (end = '') => '/device/logins/' + encodeURIComponent(code.trim()) + end;

async function begin() {
	if (code.trim() === '') return show('code');
	const profile = await ask('GET', '/auth/profile');
	if (profile.status === 401) return show('login');
	if (profile.status !== 200) return tell(profile.message);
	const waiting = await ask('GET', loginPath());
	if (waiting.status !== 200) {
		at('user-code').value = code;
		show('code');
		return tell(waiting.status === 404 ? 'No program waits with this code: it is mistyped, was used, or is over.' : waiting.message);
	}
	await showConsent(profile.data, waiting.data);
}

function choice(type, name, value, text, isChosen) {
	const label = document.createElement('label');
	const input = document.createElement('input');
	label.className = 'choice';
	Object.assign(input, { type, name, value, checked: isChosen });
	label.append(input, ' ' + text);
	return label;
}

async function showConsent(profile, waiting) {
	organizations = profile.organizations;
	const letters = code.toUpperCase().replace(/[^A-Z]/g, '');
	at('program').textContent = waiting.program;
	at('shown-code').textContent = letters.slice(0, 4) + '-' + letters.slice(4);
	at('who').textContent = profile.email;
	// The former login may have been that of another user.
	at('consent').reset();
	at('some').hidden = true;
	at('organizations').hidden = organizations.length < 2;
	const choices = organizations.map((one, place) => choice('radio', 'organization', one.id, one.name + ' (' + one.slug + ')', place === 0));
	at('organizations').replaceChildren(at('organizations').firstElementChild, ...choices);
	await showTargets();
	at('some').replaceChildren(...waiting.permissions.map((name) => choice('checkbox', 'permission', name, name, name === 'tools:read')));
	const agents = await list('agents');
	at('agent-choice').hidden = agents.length === 0;
	show('consent');
}

const chosen = (name) => document.querySelector('[name=' + name + ']:checked')?.value;

/** Lists the gateways or agents of the chosen organization; none where there are no such. */
async function list(kind) {
	const found = [];
	let cursor = '';
	do {
		const { status, data } = await ask('GET', '/' + kind + '?limit=100' + cursor, undefined, chosen('organization'));
		if (status !== 200 || !data?.[kind]) break;
		found.push(...data[kind]);
		cursor = data.nextCursor ? '&cursor=' + encodeURIComponent(data.nextCursor) : '';
	} while (cursor !== '');
	return found;
}

async function showTargets() {
	const reach = chosen('reach');
	at('one').hidden = reach === 'account';
	at('target').required = reach !== 'account';
	at('target').replaceChildren();
	if (reach === 'account') return;
	const found = await list(reach + 's');
	at('target').append(...found.map(({ id, name, endpoint }) => new Option(endpoint ? name + ' (' + endpoint + ')' : name, id)));
	tell(found.length === 0 ? 'There is no ' + reach + ' in this organization that you can see.' : '');
}

function permissions() {
	const may = chosen('may');
	if (may === 'all') return {};
	if (may === 'tools') return { permissions: ['tools:read', 'tools:execute'] };
	return { permissions: [...document.querySelectorAll('[name=permission]:checked')].map(({ value }) => value) };
}

async function decide(decision) {
	const reach = chosen('reach');
	const approval = {
		scope: reach === 'account' ? { type: 'account' } : { type: reach, id: at('target').value },
		...permissions(),
		...(reach === 'account' && chosen('organization') && { organizationId: chosen('organization') }),
	};
	if (decision === 'approve' && approval.permissions?.length === 0) return tell('Choose what it may do.');
	const { status, message } = await ask('POST', loginPath('/' + decision), decision === 'approve' ? approval : undefined);
	if (status === 401) {
		show('login');
		return tell('Your login has ended, and nothing was decided. Log in again.');
	}
	if (status !== 200) return tell(message);
	const isAllowed = decision === 'approve';
	at('done-title').textContent = isAllowed ? 'The program is logged in' : 'The program was given nothing';
	at('done-text').textContent = isAllowed ? 'Go back to it: it goes on within a few seconds. You can close this page.' : 'You can close this page.';
	show('done');
}

/** Runs one thing at a time; an outage is told. */
async function busy(form, work) {
	const buttons = [...form.querySelectorAll('button')];
	for (const button of buttons) button.disabled = true;
	tell('');
	await work().catch(() => tell('The service cannot be reached. Try again.'));
	for (const button of buttons) button.disabled = false;
}

function on(form, work) {
	at(form).addEventListener('submit', (event) => {
		event.preventDefault();
		const value = event.submitter?.value ?? '';
		busy(at(form), () => work(value));
	});
}

on('code', async () => {
	code = at('user-code').value;
	await begin();
});
on('login', async () => {
	const { status, message } = await ask('POST', '/auth/login', { email: at('email').value, password: at('password').value });
	at('password').value = '';
	if (status !== 200) return tell(message);
	await begin();
});
on('consent', decide);
at('consent').addEventListener('change', ({ target }) => {
	at('some').hidden = chosen('may') !== 'some';
	if (target.name === 'reach' || target.name === 'organization') busy(at('consent'), showTargets);
});
begin().catch(() => tell('The service cannot be reached. Reload this page.'));
`;
