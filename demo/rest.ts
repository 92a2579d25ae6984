// A client of the management API: one function that unwraps the envelope, and throws a failure as an error with its HTTP status.

/** Answers with `data` of the envelope. @throws RestFailure */
export type Rest = <T>(method: 'GET' | 'POST' | 'PATCH' | 'DELETE', path: string, body?: object) => Promise<T>;

export class RestFailure extends Error {
	readonly status: number;
	constructor(status: number, message: string) {
		super(message);
		this.status = status;
	}
}

/** @param token absent: requests are sent without a login */
export function createRest(baseUrl: string, token?: string): Rest {
	return async <T>(method: string, path: string, body?: object): Promise<T> => {
		const response = await fetch(baseUrl + path, {
			method,
			headers: {
				...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
				...(body === undefined ? {} : { 'content-type': 'application/json' }),
			},
			...(body === undefined ? {} : { body: JSON.stringify(body) }),
		});
		const text = await response.text();
		if (!response.ok) throw new RestFailure(response.status, messageOf(text));
		// The API's reference promises the envelope and its data; a demo relies on it.
		return (JSON.parse(text) as { data: T }).data;
	};
}

/** Lists all items, page by page. @param name of the items in the answer: `apis`, `tools`… */
export async function listAll<T>(rest: Rest, path: string, name: string, filters: Record<string, string> = {}): Promise<T[]> {
	const items: T[] = [];
	let cursor: string | null = null;
	do {
		const query = new URLSearchParams({ ...filters, limit: '100', ...(cursor === null ? {} : { cursor }) });
		const page: Record<string, T[]> & { nextCursor: string | null } = await rest('GET', `${path}?${query}`);
		items.push(...(page[name] ?? []));
		cursor = page.nextCursor;
	} while (cursor !== null);
	return items;
}

/** Returns the message of an error body, or the body itself when it is not one of ours. */
export function messageOf(text: string): string {
	try {
		const { message } = JSON.parse(text) as { message?: unknown };
		if (typeof message === 'string') return message;
	} catch {
		// Not JSON: it is returned as it is.
	}
	return text.slice(0, 300);
}
