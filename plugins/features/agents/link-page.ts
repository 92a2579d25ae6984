// The page behind a link in a mail: it shows the question, makes a form of its schema, and sends the answer. Texts of others are set as text,
// never as markup.

export const PAGE_POLICY =
	"default-src 'none'; script-src 'self'; style-src 'unsafe-inline'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

export const LINK_PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Approval</title>
<style>
body { font: 16px/1.5 system-ui, sans-serif; max-width: 40rem; margin: 2rem auto; padding: 0 1rem; color: #1c1c1c; background: #fff; }
#message { white-space: pre-wrap; border-left: 4px solid #888; padding-left: 1rem; }
label { display: block; margin: 1rem 0; }
input:not([type=checkbox]), textarea, select { display: block; width: 100%; font: inherit; padding: .4rem; box-sizing: border-box; }
button { font: inherit; padding: .5rem 1.5rem; }
</style>
</head>
<body>
<main>
<h1 id="agent">Approval</h1>
<p id="status" role="status">One moment.</p>
<p id="message"></p>
<form id="form" hidden><div id="fields"></div><button>Send</button></form>
<noscript>This page needs JavaScript.</noscript>
</main>
<script src="/approvals/page.js"></script>
</body>
</html>
`;

export const LINK_SCRIPT = `'use strict';
const at = (id) => document.getElementById(id);
const token = new URLSearchParams(location.hash.slice(1)).get('token') || '';
const say = (text) => { at('status').textContent = text; };
const ask = async (path, body) => {
	const answer = await fetch(path, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ token, ...body }), credentials: 'omit' });
	const told = await answer.json();
	if (!told.success) throw new Error(told.message);
	return told.data;
};
const readers = [];
function field(name, schema, isRequired) {
	const label = document.createElement('label');
	const title = document.createElement('span');
	title.textContent = (schema.title || name) + (isRequired ? ' *' : '');
	let input;
	if (Array.isArray(schema.enum)) {
		input = document.createElement('select');
		for (const [index, value] of schema.enum.entries()) input.add(new Option(String(value), String(index)));
		readers.push([name, () => schema.enum[Number(input.value)]]);
	} else if (schema.type === 'boolean') {
		input = document.createElement('select');
		input.add(new Option('', ''));
		input.add(new Option('Yes', 'true'));
		input.add(new Option('No', 'false'));
		readers.push([name, () => (input.value === '' ? undefined : input.value === 'true')]);
	} else if (schema.type === 'number' || schema.type === 'integer') {
		input = document.createElement('input');
		input.type = 'number';
		input.step = schema.type === 'integer' ? '1' : 'any';
		readers.push([name, () => (input.value === '' ? undefined : Number(input.value))]);
	} else if (schema.type === 'string') {
		input = document.createElement('textarea');
		readers.push([name, () => (input.value === '' ? undefined : input.value)]);
	} else {
		input = document.createElement('textarea');
		title.textContent += ' (JSON)';
		readers.push([name, () => (input.value === '' ? undefined : JSON.parse(input.value))]);
	}
	input.required = isRequired;
	label.append(title, input);
	if (schema.description) {
		const help = document.createElement('small');
		help.textContent = schema.description;
		label.append(help);
	}
	return label;
}
async function start() {
	const { approval, agentName } = await ask('/approvals/look');
	at('agent').textContent = agentName;
	at('message').textContent = approval.message;
	const { properties = {}, required = [], type } = approval.schema;
	if (type === 'object' || approval.schema.properties) {
		for (const [name, schema] of Object.entries(properties)) at('fields').append(field(name, schema, required.includes(name)));
	} else at('fields').append(field('', approval.schema, true));
	say('');
	at('form').hidden = false;
	at('form').addEventListener('submit', (event) => {
		event.preventDefault();
		const given = readers.map(([name, read]) => [name, read()]).filter(([, value]) => value !== undefined);
		const answer = readers.length === 1 && readers[0][0] === '' ? given[0] && given[0][1] : Object.fromEntries(given);
		ask('/approvals/answer', { answer }).then(() => {
			at('form').hidden = true;
			say('Thank you. Your answer was sent.');
		}).catch((error) => say(error.message));
	});
}
start().catch((error) => say(error.message));
`;
