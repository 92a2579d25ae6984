// Serves a model file by the chat completions of OpenAI, as servers of local models do: `node test/sweep/llama-server.ts <folder> <model>`, where
// the folder has node-llama-cpp installed. It prints its URL.

import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text as textOf } from 'node:stream/consumers';
import { pathToFileURL } from 'node:url';

const [folder = '', modelPath = ''] = process.argv.slice(2);

interface Completing {
	maxTokens: number;
	temperature: number;
	seed: number;
	signal: AbortSignal;
	stopOnAbortSignal: boolean;
	grammar?: unknown;
	onTextChunk(text: string): void;
}

/** The parts of node-llama-cpp that are used; it is no dependency, so its types are not there. */
interface Library {
	getLlama(options: object): Promise<{
		loadModel(options: object): Promise<{
			tokenize(text: string): number[];
			createContext(options: object): Promise<{ getSequence(): Sequence }>;
		}>;
		createGrammarForJsonSchema(schema: object): Promise<unknown>;
	}>;
	LlamaCompletion: new (options: {
		contextSequence: Sequence;
	}) => {
		generateCompletion(prompt: string, options: Completing): Promise<string>;
		dispose(): void;
	};
}
interface Sequence {
	clearHistory(): Promise<void>;
}

interface Body {
	messages: { role: string; content: string }[];
	stream?: boolean;
	max_tokens?: number;
	response_format?: { json_schema?: { schema: object } };
}

const library = (await import(pathToFileURL(join(folder, 'node_modules/node-llama-cpp/dist/index.js')).href)) as Library;
// One thread: others would wait for each other on a busy machine.
const llama = await library.getLlama({ gpu: false, build: 'never', skipDownload: true, logLevel: 'error', maxThreads: 1 });
const model = await llama.loadModel({ modelPath });
const context = await model.createContext({ contextSize: 2048, threads: 1 });
const sequence = context.getSequence();
/** There is one sequence, so answers are written one after the other. */
let last: Promise<unknown> = Promise.resolve();

async function complete(body: Body, signal: AbortSignal, onTextChunk: (text: string) => void): Promise<{ text: string; prompt: number }> {
	const prompt = body.messages.map(({ role, content }) => `${role}: ${content}`).join('\n');
	const schema = body.response_format?.json_schema?.schema;
	await sequence.clearHistory();
	const completion = new library.LlamaCompletion({ contextSequence: sequence });
	const grammar = schema && { grammar: await llama.createGrammarForJsonSchema(schema) };
	const options = { maxTokens: body.max_tokens ?? 32, temperature: 0.8, seed: 7, signal, stopOnAbortSignal: true, onTextChunk };
	const text = await completion.generateCompletion(prompt, { ...options, ...grammar });
	completion.dispose();
	return { text, prompt: model.tokenize(prompt).length };
}

async function answer(body: Body, response: ServerResponse): Promise<void> {
	const leaving = new AbortController();
	response.once('close', () => leaving.abort());
	const head = { id: 'chatcmpl-1', created: 1, model: 'tiny' };
	const chunk = (more: object): boolean =>
		response.write(`data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', ...more })}\n\n`);
	const delta = (content: string): boolean =>
		chunk({ choices: [{ index: 0, delta: { role: 'assistant', content }, finish_reason: null }] });
	if (body.stream) response.writeHead(200, { 'content-type': 'text/event-stream' });
	const { text, prompt } = await complete(body, leaving.signal, (piece) => void (body.stream && delta(piece)));
	const written = model.tokenize(text).length;
	const usage = { prompt_tokens: prompt, completion_tokens: written, total_tokens: prompt + written };
	if (body.stream) {
		chunk({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] });
		chunk({ choices: [], usage });
		return void response.end('data: [DONE]\n\n');
	}
	const message = { role: 'assistant', content: text };
	response.setHeader('content-type', 'application/json');
	response.end(JSON.stringify({ ...head, object: 'chat.completion', choices: [{ index: 0, message, finish_reason: 'stop' }], usage }));
}

const server = createServer(async (request, response) => {
	if (request.url?.endsWith('/models')) return void response.end('{"object":"list","data":[{"id":"tiny","object":"model"}]}');
	const body = JSON.parse(await textOf(request)) as Body;
	last = last.then(() => answer(body, response)).catch((error: unknown) => void response.destroy(error as Error));
});
server.listen(0, '127.0.0.1', () => process.stdout.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}\n`));
