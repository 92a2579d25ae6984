// Tests images that a conversation names by their addresses.

import assert from 'node:assert/strict';
import { after, before, type TestContext, test } from 'node:test';
import OpenAI from 'openai';
import { addChatAgent, executionsOf } from '../../../../test/helpers/chat-agents.ts';
import { type Account, registerAccount, type SharedService, sharedService } from '../../../../test/helpers/service.ts';
import { httpUpstream } from '../../../../test/helpers/upstream.ts';

let service: SharedService;
let account: Account;
before(async () => {
	service = await sharedService();
	account = await registerAccount(service.url);
});
after(() => service?.stop());

const PNG = Buffer.from('89504e470d0a1a0a0000000d', 'hex');
const KiB = 1024;
const FILES: Record<string, [type: string, body: Buffer]> = {
	'/a.png': ['image/png', PNG],
	'/unnamed': ['application/octet-stream', Buffer.from('RIFF....WEBPVP8 ')],
	'/large.png': ['image/png', Buffer.concat([PNG, Buffer.alloc(1024 * KiB)])],
	'/most.png': ['image/png', Buffer.concat([PNG, Buffer.alloc(900 * KiB)])],
	'/page.png': ['image/png', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>')],
};

async function stage(t: TestContext) {
	const agent = await addChatAgent(t, account, () => ({ pieces: ['Seen.'] }));
	const fetches: string[] = [];
	const { origin } = await httpUpstream(t, (request, response) => {
		const path = request.url ?? '';
		fetches.push(path);
		const [type, body] = FILES[path] ?? [];
		if (!type) return void response.writeHead(path === '/moved' ? 302 : 404, { location: 'http://169.254.169.254/latest/meta-data' }).end();
		response.writeHead(200, { 'content-type': type }).end(body);
	});
	const ai = new OpenAI({ baseURL: `${service.url}${agent.path}/v1`, apiKey: account.token, maxRetries: 0 });
	const ask = (...urls: string[]) => {
		const images = urls.map((url) => ({ type: 'image_url' as const, image_url: { url } }));
		return ai.chat.completions.create({
			model: 'any',
			messages: [{ role: 'user', content: [{ type: 'text', text: 'What is it?' }, ...images] }],
		});
	};
	return { agent, ask, origin, fetches };
}

test('images are fetched once and sent to the model as data, by the type that they have', async (t) => {
	const { agent, ask, origin, fetches } = await stage(t);
	const answer = await ask(`${origin}/a.png`, `${origin}/unnamed`, 'data:image/gif;base64,R0lGODlh');
	assert.equal(answer.choices[0]?.message.content, 'Seen.');
	const content = agent.asked[0]?.messages[0]?.content as { type: string; image_url?: { url: string } }[];
	const [, png, webp, gif] = content.map(({ image_url: image }) => image?.url);
	assert.equal(png, `data:image/png;base64,${PNG.toString('base64')}`);
	assert.match(webp ?? '', /^data:image\/webp;base64,/);
	assert.equal(gif, 'data:image/gif;base64,R0lGODlh');
	assert.deepEqual(fetches, ['/a.png', '/unnamed']);
});

const REFUSED: [what: string, urls: (origin: string) => string[], at: number, says: RegExp][] = [
	['an address inside of the network', () => ['http://169.254.169.254/a.png'], 1, /could not be fetched/],
	['an address that leads inside of it', (origin) => [`${origin}/moved`], 1, /could not be fetched/],
	['what is not there', (origin) => [`${origin}/none`], 1, /status 404/],
	['what is no image, whatever its server says', (origin) => [`${origin}/page.png`], 1, /no PNG, JPEG, GIF or WebP/],
	['one that is too large', (origin) => [`${origin}/large.png`], 1, /could not be fetched/],
	['those that are too large together', (origin) => Array.from({ length: 3 }, () => `${origin}/most.png`), 3, /could not be fetched/],
	['too many', (origin) => Array.from({ length: 9 }, () => `${origin}/a.png`), 9, /may name 8 images/],
	['content that is no base64', () => ['data:image/png;base64,<svg/>'], 1, /must be a data URL with its content in base64/],
	['an address of another kind', () => ['file:///etc/passwd'], 1, /must be a data URL/],
];

for (const [what, urls, at, says] of REFUSED)
	test(`${what} is a 400 that names the part, and nothing runs`, async (t) => {
		const { agent, ask, origin } = await stage(t);
		const error = await ask(...urls(origin)).catch((thrown: unknown) => thrown);
		assert.ok(error instanceof OpenAI.BadRequestError, String(error));
		assert.equal(error.param, `messages.0.content.${at}.image_url.url`);
		assert.match(error.message, says);
		assert.deepEqual([agent.asked.length, (await executionsOf(account, agent)).length], [0, 0]);
	});
