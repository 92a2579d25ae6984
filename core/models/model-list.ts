// Lists the models of a provider whose list has the form that OpenAI gave it: `{ data: [{ id, … }] }`.

import { GatewayError } from '../contract/errors.ts';
import type { Json } from '../contract/nouns.ts';
import type { ChatModel } from '../contract/providers.ts';
import { hasManyNames, isObject } from '../kit/json.ts';
import type { FetchLike } from './provider-fetch.ts';

/** The most models that are listed. */
const MAX_MODELS = 1000;
const MAX_ID_CHARS = 200;

/** @param send a `providerFetch`. @throws what it throws, and upstream_failed for an answer that is no list */
export async function listModels(send: FetchLike, url: string, headers: Record<string, string>): Promise<ChatModel[]> {
	const answer = await send(url, { headers });
	const found = parsed(await answer.text().catch(() => ''));
	const data = isObject(found) ? found['data'] : null;
	if (!Array.isArray(data)) throw new GatewayError('upstream_failed', 'The model provider sent no list of models.');
	return data
		.flatMap((one: Json) => {
			const id = isObject(one) ? one['id'] : null;
			return typeof id === 'string' && id !== '' && id.length <= MAX_ID_CHARS ? [{ id }] : [];
		})
		.slice(0, MAX_MODELS);
}

/** Returns null for what is not JSON, or would be parsed for too long. */
function parsed(text: string): unknown {
	if (hasManyNames(text)) return null;
	try {
		return JSON.parse(text);
	} catch {
		return null;
	}
}
