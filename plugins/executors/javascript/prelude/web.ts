// Runs inside the sandbox when the code first uses one of the web APIs defined here. Like the prelude it is passed in as text, and refers
// to nothing outside of itself.

import type { Kernel } from './main.ts';

interface Parts extends Record<string, string> {
	href: string;
	search: string;
}

export function preludeWeb({ host, mayRequest, parse, stringify, define, wait, forget }: Kernel): void {
	/** Encodes as application/x-www-form-urlencoded, by the URL Standard. */
	const encode = (value: string): string =>
		encodeURIComponent(value.toWellFormed()).replace(/[!'()~]|%20/g, (one) =>
			one === '%20' ? '+' : `%${one.charCodeAt(0).toString(16).toUpperCase()}`,
		);
	/** Decodes; escapes that are not UTF-8 are kept as written. */
	const decode = (value: string): string =>
		value.replaceAll('+', ' ').replace(/(?:%[\dA-Fa-f]{2})+/g, (escapes) => {
			try {
				return decodeURIComponent(escapes);
			} catch {
				return escapes;
			}
		});
	const readPairs = (query: string): [string, string][] =>
		query
			.replace(/^\?/, '')
			.split('&')
			.filter((part) => part !== '')
			.map((part) => {
				const [name = '', ...rest] = part.split('=');
				return [decode(name), decode(rest.join('='))];
			});
	const pairsOf = (init: unknown): [string, string][] => {
		if (init === undefined || init === null) return [];
		if (typeof init !== 'object') return readPairs(String(init));
		const entries = Symbol.iterator in init ? [...(init as Iterable<[unknown, unknown]>)] : Object.entries(init);
		return entries.map(([name, value]) => [String(name), String(value)]);
	};

	/** Compares name and value; without `value` only the name. */
	const matches = ([one, own]: [string, string], name: unknown, value: unknown): boolean =>
		one === String(name) && (value === undefined || own === String(value));

	/** Sets the parameters to the query that the URL has now. */
	let follow: (params: SearchParams, query: string) => void;
	class SearchParams {
		#pairs: [string, string][];
		readonly #changed: (query: string) => void;

		static {
			follow = (params, query) => {
				params.#pairs = readPairs(query);
			};
		}

		constructor(init?: unknown, changed: unknown = undefined) {
			this.#pairs = pairsOf(init);
			this.#changed = typeof changed === 'function' ? (query) => changed(query) : () => undefined;
		}
		#keep(pairs: [string, string][]): void {
			this.#pairs = pairs;
			this.#changed(this.toString());
		}
		append(name: unknown, value: unknown): void {
			this.#keep([...this.#pairs, [String(name), String(value)]]);
		}
		delete(name: unknown, value?: unknown): void {
			this.#keep(this.#pairs.filter((pair) => !matches(pair, name, value)));
		}
		get(name: unknown): string | null {
			return this.getAll(name)[0] ?? null;
		}
		getAll(name: unknown): string[] {
			return this.#pairs.filter(([one]) => one === String(name)).map(([, value]) => value);
		}
		has(name: unknown, value?: unknown): boolean {
			return this.#pairs.some((pair) => matches(pair, name, value));
		}
		set(name: unknown, value: unknown): void {
			const at = this.#pairs.findIndex(([one]) => one === String(name));
			const others = this.#pairs.filter(([one], index) => index === at || one !== String(name));
			const pair: [string, string] = [String(name), String(value)];
			this.#keep(at === -1 ? [...others, pair] : others.with(at, pair));
		}
		sort(): void {
			this.#keep(this.#pairs.toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)));
		}
		forEach(action: (value: string, name: string) => void): void {
			for (const [name, value] of this.#pairs) action(value, name);
		}
		keys(): Iterable<string> {
			return this.#pairs.map(([name]) => name).values();
		}
		values(): Iterable<string> {
			return this.#pairs.map(([, value]) => value).values();
		}
		entries(): Iterable<[string, string]> {
			return this.#pairs.map(([name, value]): [string, string] => [name, value]).values();
		}
		[Symbol.iterator](): Iterable<[string, string]> {
			return this.entries();
		}
		get [Symbol.toStringTag](): string {
			return 'URLSearchParams';
		}
		get size(): number {
			return this.#pairs.length;
		}
		toString(): string {
			return this.#pairs.map(([name, value]) => `${encode(name)}=${encode(value)}`).join('&');
		}
	}
	define('URLSearchParams', SearchParams);

	/** Has the host parse a URL; null if it is invalid. */
	const read = (...texts: (string | null)[]): Parts | null => {
		const answer = host('url', stringify(texts));
		return answer === undefined ? null : parse(answer);
	};
	const partsOf = new WeakMap<object, Parts>();
	const change = (url: object, name: string, value: string): void => {
		const parts = read(partsOf.get(url)?.href ?? '', null, name, value);
		if (parts !== null) partsOf.set(url, parts);
	};
	class Url {
		readonly searchParams: SearchParams;

		constructor(input: unknown, base?: unknown) {
			const parts = read(String(input), base === undefined ? null : String(base));
			if (parts === null) throw new TypeError(`Invalid URL: ${String(input).slice(0, 200)}`);
			partsOf.set(this, parts);
			this.searchParams = new SearchParams(parts.search, (query: string) => change(this, 'search', query));
		}
		static canParse(input: unknown, base?: unknown): boolean {
			return read(String(input), base === undefined ? null : String(base)) !== null;
		}
		toString(): string {
			return partsOf.get(this)?.href ?? '';
		}
		toJSON(): string {
			return this.toString();
		}
	}
	for (const name of 'href origin protocol username password host hostname port pathname search hash'.split(' '))
		Object.defineProperty(Url.prototype, name, {
			configurable: true,
			get(this: Url) {
				return partsOf.get(this)?.[name];
			},
			set(this: Url, value: unknown) {
				change(this, name, String(value));
				follow(this.searchParams, partsOf.get(this)?.search ?? '');
			},
		});
	define('URL', Url);

	if (!mayRequest) return;
	const headersOf = (given: unknown): Record<string, string> => Object.fromEntries(pairsOf(given));
	const bodyOf = (given: unknown, headers: Record<string, string>): string | null => {
		if (given === undefined || given === null) return null;
		const isForm = given instanceof SearchParams;
		if (!isForm && typeof given !== 'string') throw new TypeError('A body is a string or URLSearchParams: use JSON.stringify(data).');
		const isTyped = Object.keys(headers).some((name) => name.toLowerCase() === 'content-type');
		if (!isTyped) headers['content-type'] = isForm ? 'application/x-www-form-urlencoded;charset=UTF-8' : 'text/plain;charset=UTF-8';
		return String(given);
	};
	interface Init {
		method?: unknown;
		headers?: unknown;
		body?: unknown;
	}
	interface Answer {
		status: number;
		headers: Record<string, string>;
		url: string;
		text: string;
		fault?: string;
	}
	const responseOf = ({ status, headers, url, text }: Answer, received = new Map(Object.entries(headers))) => ({
		status,
		ok: status >= 200 && status < 300,
		url,
		headers: {
			get: (name: unknown): string | null => received.get(String(name).toLowerCase()) ?? null,
			has: (name: unknown): boolean => received.has(String(name).toLowerCase()),
			forEach: (each: (value: string, name: string) => void): void => received.forEach((value, name) => void each(value, name)),
			keys: () => received.keys(),
			values: () => received.values(),
			entries: () => received.entries(),
			[Symbol.iterator]: () => received.entries(),
		},
		text: async () => text,
		json: async () => parse(text) as unknown,
	});
	const send = (url: unknown, init?: Init | null) =>
		new Promise((resolve, reject) => {
			const { method = 'GET', headers: given, body } = init ?? {};
			const headers = headersOf(given);
			const request = { url: String(url), method: String(method).toUpperCase(), headers, body: bodyOf(body, headers) };
			const id = wait((text) => {
				const answer: Answer = parse(text);
				if (answer.fault === undefined) resolve(responseOf(answer));
				else reject(new TypeError(answer.fault));
			});
			const fault = host('request', stringify(id), stringify(request));
			if (fault === undefined) return;
			forget(id);
			reject(new TypeError(parse(fault)));
		});
	define('fetch', send);
}
