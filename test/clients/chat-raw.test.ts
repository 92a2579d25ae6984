// Tests agents by a reader of the raw stream as litellm is, by which aider talks: one line after the other, chunks joined by their members.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { addChatAgent, type ChatAgent, hangingAgent, WEATHER_TOLD, WEATHER_TOOL } from '../helpers/chat-agents.ts';
import { type Account, registerAccount, type SharedService, sharedService } from '../helpers/service.ts';

let service: SharedService;
let account: Account;
before(async () => {
	service = await sharedService();
	account = await registerAccount(service.url);
});
after(() => service?.stop());

interface Chunk {
	choices: { index: number; delta: { role?: string; content?: string | null; tool_calls?: RawCall[] }; finish_reason: string | null }[];
	usage?: { total_tokens: number } | null;
	error?: { message: string; type: string };
}
interface RawCall {
	index: number;
	id?: string;
	function: { name?: string; arguments: string };
}

const request = (agent: ChatAgent, body: object, signal?: AbortSignal): Promise<Response> =>
	fetch(`${service.url}${agent.path}/v1/chat/completions`, {
		method: 'POST',
		headers: { authorization: `Bearer ${account.token}`, 'content-type': 'application/json', 'accept-encoding': 'gzip, deflate, br, zstd' },
		body: JSON.stringify({ model: 'agent', temperature: 0, stream: true, ...body }),
		...(signal && { signal }),
	});

/** Reads the lines of a stream one by one, and takes nothing but those that begin with `data:`. It ends with a mark, or with an error. */
async function* chunksOf({ body }: Response): AsyncGenerator<Chunk> {
	let [rest, hasFailed] = ['', false];
	for await (const piece of (body ?? assert.fail()).pipeThrough(new TextDecoderStream())) {
		const lines = (rest + piece).split('\n');
		rest = lines.pop() ?? '';
		for (const line of lines) {
			if (line.trim() === '' || line.startsWith(':')) continue;
			assert.ok(line.startsWith('data: '), line);
			if (line === 'data: [DONE]') return;
			const chunk = JSON.parse(line.slice('data: '.length));
			hasFailed ||= chunk.error !== undefined;
			yield chunk;
		}
	}
	assert.ok(hasFailed, 'The stream had no end.');
}

/** Joins the chunks as litellm does: the text, and the calls by their index. */
async function joined(response: Response) {
	assert.equal(response.status, 200);
	const [calls, texts] = [[] as { id: string; name: string; args: string }[], [] as string[]];
	let [reason, usage] = [null as string | null, null as Chunk['usage']];
	for await (const { choices, usage: told, error } of chunksOf(response)) {
		assert.equal(error, undefined);
		usage = told ?? usage ?? null;
		for (const { delta, finish_reason } of choices) {
			texts.push(delta.content ?? '');
			reason = finish_reason ?? reason;
			for (const {
				index,
				id = '',
				function: { name = '', arguments: args },
			} of delta.tool_calls ?? []) {
				const call = calls[index] ?? { id: '', name: '', args: '' };
				calls[index] = { id: call.id + id, name: call.name + name, args: call.args + args };
			}
		}
	}
	return { text: texts.join(''), calls, reason, usage };
}

test('a reader of the raw stream gets the text, and the usage only when it asks', async (t) => {
	const agent = await addChatAgent(t, account);
	// Aider sends its prompts as pairs of examples, a system message among them, and perhaps the beginning of the answer.
	const said = [
		{ role: 'system', content: 'Edit files.' },
		...[{ role: 'user' }, { role: 'assistant' }].map((one) => ({ ...one, content: 'An example.' })),
		{ role: 'system', content: 'Keep to the form.' },
		{ role: 'user', content: 'Hello, grüße 😀.' },
		{ role: 'assistant', content: 'Begin' },
	];
	const plain = await joined(await request(agent, { messages: said }));
	assert.deepEqual(plain, { text: 'Hello, grüße 😀.', calls: [], reason: 'stop', usage: null });
	const counted = await joined(await request(agent, { messages: said, stream_options: { include_usage: true } }));
	assert.equal(counted.usage?.total_tokens, 10);
	assert.equal(agent.asked[0]?.messages[0]?.content, 'Edit files.\n\nKeep to the form.');
	assert.equal(agent.asked[0]?.['temperature'], 0);
});

test('a reader of the raw stream runs its tools over several rounds', async (t) => {
	const agent = await addChatAgent(t, account);
	const said: object[] = [{ role: 'user', content: 'Weather?' }];
	const rounds: number[] = [];
	for (;;) {
		const { text, calls, reason } = await joined(await request(agent, { messages: said, tools: [WEATHER_TOOL] }));
		if (reason !== 'tool_calls') {
			assert.equal(text, WEATHER_TOLD);
			break;
		}
		rounds.push(calls.length);
		const made = calls.map(({ id, name, args }) => ({ id, type: 'function', function: { name, arguments: args } }));
		said.push({ role: 'assistant', content: text, tool_calls: made });
		for (const { id, args } of calls)
			said.push({ role: 'tool', tool_call_id: id, name: 'weather', content: `rain in ${JSON.parse(args).city}` });
	}
	assert.deepEqual(rounds, [2, 1]);
});

test('a reader of the raw stream gets a status for what fails at once, an error for what fails later, and may leave', async (t) => {
	const asked = { messages: [{ role: 'user', content: 'x' }] };
	const failing = await addChatAgent(t, account, () => ({ status: 400 }));
	const refused = await request(failing, asked);
	// Aider repeats a 422, and no 400.
	assert.deepEqual([refused.status, ((await refused.json()) as { error: { type: string } }).error.type], [400, 'pipeline_error']);
	const rest = Promise.withResolvers<void>();
	const broken = await addChatAgent(t, account, () => ({ pieces: ['Hel', rest.promise], cut: true }));
	const errors: string[] = [];
	for await (const { error, choices = [] } of chunksOf(await request(broken, asked))) {
		if (choices[0]?.delta.content === 'Hel') rest.resolve();
		if (error) errors.push(error.type);
	}
	assert.deepEqual(errors, ['pipeline_error']);
	const { agent, untilLeft } = await hangingAgent(t, account);
	const leaving = new AbortController();
	for await (const { choices } of chunksOf(await request(agent, asked, leaving.signal))) if (choices[0]?.delta.content === 'Wait') break;
	leaving.abort();
	await untilLeft();
});
