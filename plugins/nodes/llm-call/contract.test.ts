// The contract of nodes, for `llm_call`.

import { nodeContract } from '../../../testing/index.ts';
import llmCall from './index.ts';

const PROVIDER = '00000000-0000-4000-8000-0000000000aa';
const PROMPT = 'Summarise {{input.text}}';
const input = { input: { text: 'x' }, from: [] };
const config = () => ({ providerId: PROVIDER, userPromptTemplate: PROMPT });
const usage = { inputTokens: 10, outputTokens: 2, cachedTokens: 0, costMicroUsd: 3 };
const end = { type: 'end', reason: 'stop', model: 'small', usage } as const;
const schema = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] };

nodeContract(llmCall, {
	bad: [
		{ config: { userPromptTemplate: PROMPT }, says: /"providerId" is required/ },
		{ config: { providerId: PROVIDER }, says: /"userPromptTemplate" is required/ },
		{ config: { ...config(), temperature: 3 }, says: /"temperature" must be less than or equal to 2/ },
		{ config: { ...config(), output: {} }, says: /"output.schema" is required/ },
		{ config: { ...config(), images: 5 }, says: /"images" must be one of/ },
	],
	samples: [
		{
			...{ name: 'a text', config, effect: 'repeatable', input, values: { [PROMPT]: 'Summarise x' } },
			results: { chat: [{ type: 'reasoning', text: 'hm' }, { type: 'text', text: 'It is ' }, { type: 'text', text: 'x.' }, end] },
			expected: { output: 'It is x.' },
		},
		{
			...{ name: 'JSON of a schema', config: () => ({ ...config(), output: { schema } }), effect: 'repeatable', input },
			results: { chat: [{ type: 'text', text: '{"n":1}' }, end] },
			expected: { output: { n: 1 } },
		},
	],
});
