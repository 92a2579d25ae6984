import { httpBehaviour } from '../../../testing/behaviours.ts';
import { executorContract } from '../../../testing/executor.ts';
import javascript from './index.ts';

const TYPE = 'application/json';

const codeAt = (origin: string): string => `
const answer = await fetch(${JSON.stringify(`${origin}/x`)}, { method: 'POST', body: JSON.stringify(parameters) });
if (!answer.ok) throw new Error('It answered ' + answer.status);
return await answer.json();`;

executorContract(javascript, {
	start: (t, behaviour) =>
		httpBehaviour(t, behaviour, {
			echo: (body) => ({ type: TYPE, body: body || '{}' }),
			fail: { status: 500, type: TYPE, body: '{"message":"no"}' },
			tell: (request) => ({ type: TYPE, body: request }),
			endless: { type: TYPE, begin: '[1', piece: ',1' },
		}),
	config: (origin, more) => ({ code: codeAt(origin), ...more }),
	echoed: ({ structured }) => (structured as { text: string }).text,
	bad: [
		{ config: { code: 1 }, says: /"code" must be a string/ },
		{ config: { code: 'return 1', timeoutMs: 0 }, says: /"timeoutMs" must be/ },
		{ config: { code: 'return 1', memoryMb: 4096 }, says: /"memoryMb" must be/ },
	],
	timeoutField: 'timeoutMs',
	hasAddress: false,
	signed: null,
});
