// Agents that clients of OpenAI's API talk to in tests, with a model that asks for the weather by tools of the client.

import type { TestContext } from 'node:test';
import { until } from './clock.ts';
import { type AskedModel, type Said, scriptedModels } from './scripted-models.ts';
import { type Account, must } from './service.ts';

export const WEATHER = {
	name: 'weather',
	description: 'Tells the weather.',
	schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
};
/** The tool as requests name it. */
export const WEATHER_TOOL = {
	type: 'function' as const,
	function: { name: WEATHER.name, description: WEATHER.description, parameters: WEATHER.schema },
};

/** Repeats the user; asked for the weather, asks for two cities at once, then for one more, then tells what it read. */
export function answerWeather({ messages }: AskedModel): Said {
	const results = messages.filter(({ role }) => role === 'tool').map(({ content }) => String(content));
	const call = (id: string, city: string) => ({ id, name: 'weather', args: { city } });
	const said = String(messages.findLast(({ role }) => role === 'user')?.content);
	if (said !== 'Weather?') return { pieces: [...said] };
	if (results.length === 0) return { calls: [call('a', 'Graz'), call('b', 'Linz')] };
	return results.length === 2 ? { calls: [call('c', 'Wien')] } : { pieces: ['It is ', results.join()] };
}
export const WEATHER_TOLD = 'It is rain in Graz,rain in Linz,rain in Wien';

export interface ChatAgent {
	id: string;
	/** The path of the agent. */
	path: string;
	/** The requests to the model. */
	asked: AskedModel[];
}

interface Options {
	/** Members of the data of its node of type `agent`. */
	data?: object;
	settings?: object;
	/** Hears of callers of the model that leave. */
	gone?: () => void;
}

/** Adds an agent with one node of type `agent`. */
export async function addChatAgent(
	t: Pick<TestContext, 'after'>,
	account: Account,
	said: (asked: AskedModel, at: number) => Said = answerWeather,
	{ data, settings, gone }: Options = {},
): Promise<ChatAgent> {
	const { origin, asked } = await scriptedModels(t, said, gone);
	const connection = { name: 'Models', provider: 'custom', apiKey: 'key', baseUrl: origin, model: 'small' };
	const providerId = must(await account.post('/llm-providers', connection), 201).body.data.id;
	const nodes = [
		{ id: 'in', type: 'input', data: {} },
		{ id: 'say', type: 'agent', data: { providerId, prompt: '{{input.message}}', ...data } },
		{ id: 'out', type: 'output', data: {} },
	];
	const edges = [
		{ id: 'a', source: 'in', target: 'say' },
		{ id: 'b', source: 'say', target: 'out' },
	];
	const body = { name: 'Talker', pipeline: { nodes, edges }, ...(settings && { settings }) };
	const { id } = must(await account.post('/agents', body), 201).body.data;
	return { id, path: `/agents/${id}`, asked };
}

/** Returns the executions of an agent, the newest first. */
// biome-ignore lint/suspicious/noExplicitAny: tests read into answers whose shape is what they test
export const executionsOf = async (account: Account, { path }: ChatAgent): Promise<any[]> =>
	must(await account.get(`${path}/executions`), 200).body.data.executions;

/** Adds an agent whose model never ends its answer. */
export async function hangingAgent(t: Pick<TestContext, 'after'>, account: Account) {
	let hasGone = false;
	const gone = (): void => {
		hasGone = true;
	};
	const agent = await addChatAgent(t, account, () => ({ pieces: ['Wait', new Promise(() => undefined)] }), { gone });
	/** Waits until the model has seen that its caller left, and the run is cancelled. */
	const untilLeft = async (): Promise<void> => {
		await until(() => hasGone, 'the end of the model’s answer');
		await until(async () => (await executionsOf(account, agent))[0].statusDetail === 'cancelled', 'the end of the run');
	};
	return { agent, untilLeft };
}
