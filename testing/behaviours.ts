// HTTP servers for the contract of executors: each treats every request in one way.

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { TestContext } from 'node:test';
import type { Behaviour } from './executor.ts';
import { httpUpstream, type Upstream } from './upstream.ts';

/** The responses of a protocol over HTTP; `endless` is the piece that it repeats. */
export interface HttpBehaviours {
	echo(body: string): { type: string; body: string };
	fail: { status: number; type: string; body: string };
	/** Responds with what arrived. @param secret all received headers and the URL, as JSON */
	tell(request: string): { type: string; body: string };
	endless: { type: string; begin: string; piece: string };
}

export function httpBehaviour(t: TestContext, behaviour: Behaviour, speaks: HttpBehaviours): Promise<Upstream> {
	return httpUpstream(t, async (request, response) => {
		// The caller may have disconnected by then.
		const body = await bodyOf(request).catch(() => null);
		if (body === null || behaviour === 'hang') return;
		if (behaviour === 'reset') return void response.socket?.destroy();
		if (behaviour === 'endless') return void flood(response, speaks.endless);
		const { status = 200, type, body: answer } = answerOf(behaviour, { request, body, speaks });
		response.writeHead(status, { 'content-type': type }).end(answer);
	});
}

function answerOf(
	behaviour: Behaviour,
	{ request, body, speaks }: { request: IncomingMessage; body: string; speaks: HttpBehaviours },
): { status?: number; type: string; body: string | Buffer } {
	if (behaviour === 'fail') return speaks.fail;
	if (behaviour === 'nonsense') return { status: 502, type: 'text/html', body: Buffer.from([0, 255, 254, 60, 104]) };
	if (behaviour === 'tell') return speaks.tell(JSON.stringify([request.url, request.headers]));
	return speaks.echo(body);
}

async function bodyOf(request: IncomingMessage): Promise<string> {
	const chunks: Buffer[] = [];
	for await (const chunk of request) chunks.push(chunk);
	return Buffer.concat(chunks).toString('utf8');
}

function flood(response: ServerResponse, { type, begin, piece }: HttpBehaviours['endless']): void {
	response.writeHead(200, { 'content-type': type }).write(begin);
	const chunk = piece.repeat(Math.ceil(65_536 / piece.length));
	const more = (): void => {
		while (!response.destroyed && response.write(chunk));
	};
	response.on('drain', more);
	more();
}
