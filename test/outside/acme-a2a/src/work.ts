// The work of a task, and the notifications of its end.

import { type Call, isObject, type Job, type JobHandler, type Json, type JsonObject, type ToolResult } from 'gatehouse';
import type { Config } from './index.ts';
import { type Asked, askedOf, type Made, statusUpdate } from './tasks.ts';

/** A job keeps 64 Ki characters. */
const MAX_CHARS = 60_000;

export const jobs: Readonly<Record<string, JobHandler<Config>>> = {
	task: {
		async run(data, { id, call, progress }): Promise<Json> {
			// It was given by `SendMessage`.
			const { skill, args } = data as { skill: string; args: Json };
			const telling = call.with({
				progress: (done, total, message) => progress(message ?? `${done}${total === undefined ? '' : ` of ${total}`}`),
			});
			const made = madeOf(await telling.invoke({ name: skill }, args));
			await notify(id, { status: 'succeeded', output: made }, call);
			return made;
		},
		// A tool may have an effect that must not come twice.
		attempts: 1,
		timeoutMs: 15 * 60_000,
	},
};

function madeOf({ content, structured, isError = false }: ToolResult): Made & JsonObject {
	const data = structured === undefined ? [] : [{ data: structured }];
	const texts = content.flatMap((block) => (block.type === 'text' ? [{ text: block.text }] : []));
	const files = content.flatMap((block) => ('data' in block ? [{ raw: block.data, mediaType: block.mimeType }] : []));
	const parts = [...(data.length > 0 ? data : texts), ...files];
	const isLong = JSON.stringify(parts).length > MAX_CHARS;
	return { isError, parts: isLong ? [{ text: 'The result is too long to be kept.' }] : parts };
}

/** Tells the receivers that the client named. A job is told of before it has ended, so its end is given. */
export async function notify(id: string, end: Pick<Job, 'status' | 'output'>, call: Call): Promise<void> {
	const task = await call.records.get(`task:${id}`);
	const job = await call.jobs.get(id);
	if (!task || !job) return;
	const body = statusUpdate(askedOf(task.value) satisfies Asked, { ...job, progress: null, ...end, finishedAt: new Date() });
	const { records } = await call.records.find({ all: ['push', `of:${id}`] }, { limit: 10 });
	for (const { key, value } of records) {
		const { url, token, authentication } = value;
		const headers = {
			'content-type': 'application/a2a+json',
			...(typeof token === 'string' && { 'x-a2a-notification-token': token }),
			...(isObject(authentication) && { authorization: `${String(authentication['scheme'])} ${String(authentication['credentials'])}` }),
		};
		await call.deliver({ url: String(url), body, headers, key: `${key}:${end.status}` });
	}
}
