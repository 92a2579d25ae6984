// The page behind a link in a mail: it shows the question, makes a form of its schema, and sends the answer. Texts of others are set as text,
// never as markup. Its look is that of the other pages of the service: light and dark, for screens from a phone's width up.

import { hash } from 'node:crypto';
import { PAGE_LOOK } from '../../../core/features.ts';

const STYLE = `${PAGE_LOOK}main { max-width: 40rem; }
@media (min-width: 44rem) { main { margin: 8vh auto; padding: 2rem; min-height: 0; border-radius: .75rem; box-shadow: 0 1px 4px rgb(0 0 0 / .3); } }
#message { margin: 1rem 0; padding-inline-start: 1rem; border-inline-start: .25rem solid var(--line); white-space: pre-wrap; }
label { display: block; margin: 1.25rem 0 .25rem; font-weight: 600; }
.note { margin: .25rem 0; }
input, textarea, select { display: block; width: 100%; min-height: 2.75rem; padding: .6rem .7rem; font: inherit; color: inherit; background: var(--paper); border: 1px solid var(--line); border-radius: .5rem; }
button { display: block; width: 100%; margin-top: 1.5rem; padding: .7rem 1rem; font: inherit; font-weight: 600; color: var(--on-deed); background: var(--deed); border: 1px solid var(--deed); border-radius: .5rem; cursor: pointer; }
button:disabled { opacity: .6; cursor: default; }
h1:focus { outline: none; }
`;

export const PAGE_POLICY = [
	"default-src 'none'",
	"script-src 'self'",
	`style-src 'sha256-${hash('sha256', STYLE, 'base64')}'`,
	"connect-src 'self'",
	"base-uri 'none'",
	"form-action 'none'",
	"frame-ancestors 'none'",
].join('; ');

export const LINK_PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Approval – Gatehouse</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<p class="brand">Gatehouse</p>
<h1 tabindex="-1">Approval</h1>
<p id="status" role="status">One moment.</p>
<noscript><p class="alert">This page needs JavaScript.</p></noscript>
<div id="question" hidden>
<p>The agent <bdi id="agent"></bdi> waits for your decision:</p>
<p id="message" dir="auto"></p>
<p class="note">This link works until <time id="until"></time>, or until somebody has decided.</p>
<form id="form"><div id="fields"></div><button>Send</button></form>
</div>
<p class="alert" role="alert" id="alert" hidden></p>
</main>
<script src="/approvals/page.js"></script>
</body>
</html>
`;

export const LINK_SCRIPT = `'use strict';
const at = (id) => document.getElementById(id);
const make = (name, more) => Object.assign(document.createElement(name), more);
const token = new URLSearchParams(location.hash.slice(1)).get('token') || '';

function tell(text) {
	at('alert').textContent = text;
	at('alert').hidden = text === '';
	at('alert').scrollIntoView({ block: 'nearest' });
}

async function ask(path, body) {
	const asked = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ token, ...body }), credentials: 'omit' };
	const response = await fetch(path, asked).catch(() => null);
	const answer = await response?.json().catch(() => null);
	if (!answer) throw new Error('The service cannot be reached. Try again.');
	if (!answer.success) throw new Error(answer.message);
	return answer.data;
}

function select(choices) {
	const input = make('select');
	input.add(new Option('Choose', ''));
	for (const [index, [text]] of choices.entries()) input.add(new Option(text, String(index)));
	return [input, () => choices[Number(input.value)][1]];
}

function number(schema) {
	const input = make('input', { type: 'number', step: schema.type === 'integer' ? '1' : 'any' });
	if (typeof schema.minimum === 'number') input.min = schema.minimum;
	if (typeof schema.maximum === 'number') input.max = schema.maximum;
	return [input, () => Number(input.value)];
}

function text(schema) {
	const input = make('textarea', { dir: 'auto' });
	if (schema.maxLength > 0) input.maxLength = schema.maxLength;
	return [input, () => input.value];
}

function json() {
	const input = make('textarea', { spellcheck: false });
	input.addEventListener('input', () => {
		let fault = '';
		try {
			if (input.value !== '') JSON.parse(input.value);
		} catch {
			fault = 'Write JSON, such as ["a", "b"] or {"a": 1}.';
		}
		input.setCustomValidity(fault);
	});
	return [input, () => JSON.parse(input.value)];
}

/** Returns the control for a schema, and what reads its value. A choice is made by the person: none comes with an answer chosen. */
function control(schema) {
	if (Array.isArray(schema.enum)) return select(schema.enum.map((value) => [typeof value === 'string' ? value : JSON.stringify(value), value]));
	if (schema.type === 'boolean') return select([['Yes', true], ['No', false]]);
	if (schema.type === 'number' || schema.type === 'integer') return number(schema);
	return schema.type === 'string' ? text(schema) : json();
}

const isShort = (schema) => Array.isArray(schema.enum) || ['boolean', 'number', 'integer', 'string'].includes(schema.type);

/** Adds the field of one member of the answer. Returns what reads it: undefined when it was left empty. */
function addField(name, schema, isRequired) {
	const id = 'field-' + at('fields').childElementCount;
	const label = make('label', { htmlFor: id, dir: 'auto' });
	label.append(make('bdi', { textContent: schema.title || name }), (isShort(schema) ? '' : ' (JSON)') + (isRequired ? '' : ' (optional)'));
	const [input, read] = control(schema);
	Object.assign(input, { id, required: isRequired });
	at('fields').append(label, input);
	if (schema.description) {
		at('fields').append(make('p', { id: id + '-note', className: 'note', dir: 'auto', textContent: schema.description }));
		input.setAttribute('aria-describedby', id + '-note');
	}
	return () => (input.value === '' ? undefined : read());
}

function showQuestion({ approval, agentName, expiresAt }) {
	at('agent').textContent = agentName;
	at('message').textContent = approval.message;
	at('until').dateTime = expiresAt;
	at('until').textContent = new Date(expiresAt).toLocaleString(undefined, { dateStyle: 'long', timeStyle: 'short' });
	at('status').textContent = '';
	at('question').hidden = false;
	const { properties = {}, required = [] } = approval.schema;
	const readers = Object.entries(properties).map(([name, schema]) => [name, addField(name, schema, required.includes(name))]);
	if (readers.length === 0) return addField('Your answer', {}, true);
	return () => Object.fromEntries(readers.map(([name, read]) => [name, read()]).filter(([, value]) => value !== undefined));
}

async function send(answer) {
	const button = at('form').querySelector('button');
	button.disabled = true;
	tell('');
	try {
		await ask('/approvals/answer', { answer });
		at('question').hidden = true;
		at('status').textContent = 'Thank you. Your answer was sent, and you can close this page.';
		document.querySelector('h1').focus();
	} catch (error) {
		tell(error.message);
	}
	button.disabled = false;
}

async function start() {
	if (token === '') throw new Error('A part of the link is missing. Open it as it is in the mail.');
	const read = showQuestion(await ask('/approvals/look'));
	at('form').addEventListener('submit', (event) => {
		event.preventDefault();
		send(read());
	});
}

start().catch((error) => {
	at('status').textContent = '';
	tell(error.message);
});
`;
