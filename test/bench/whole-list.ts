// Reads all pages of a gateway's list of tools.

import type { Path } from './paths.ts';

interface WholeList {
	tools: number;
	bytes: number;
	pages: number;
}

/** @param path a request for the first page */
export async function readWholeList({ url, method, headers }: Path): Promise<WholeList> {
	const list = { tools: 0, bytes: 0, pages: 0 };
	for (let params: object | null = {}; params !== null; ) {
		const body: string = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params });
		const text: string = await (await fetch(url, { method, headers, body })).text();
		const { tools, nextCursor }: { tools: unknown[]; nextCursor?: string } = JSON.parse(text).result;
		params = nextCursor === undefined ? null : { cursor: nextCursor };
		list.tools += tools.length;
		list.bytes += text.length;
		list.pages++;
	}
	return list;
}
