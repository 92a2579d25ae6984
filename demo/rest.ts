// A client of the management API: one function, the envelope taken off, a failure as an error with its HTTP status.

/** Answers with `data` of the envelope. @throws RestFailure */
export type Rest = <T>(method: 'GET' | 'POST' | 'PATCH' | 'DELETE', path: string, body?: object) => Promise<T>;

export class RestFailure extends Error {
	readonly status: number;
	constructor(status: number, message: string) {
		super(message);
		this.status = status;
	}
}

/** @param token absent: nobody is logged in */
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
		// The envelope and its data are what the API's reference says; a demo believes it.
		return (JSON.parse(text) as { data: T }).data;
	};
}

/** Every item of a list, page by page. @param name of the items in the answer: `apis`, `tools`… */
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

/** The sentence of an error body, or the body itself when it is not one of ours. */
export function messageOf(text: string): string {
	try {
		const { message } = JSON.parse(text) as { message?: unknown };
		if (typeof message === 'string') return message;
	} catch {
		// Not JSON: shown as it is.
	}
	return text.slice(0, 300);
}
