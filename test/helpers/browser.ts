// A browser without a screen: it handles cookies, forms and redirects, as far as plain pages need them.

export interface Visited {
	status: number;
	headers: Headers;
	html: string;
	/** The URL of the page; the first address on another origin, if redirects led there. */
	url: URL;
	/** True if a redirect led to another service; the browser does not follow it there. */
	left: boolean;
}

export interface Browser {
	/** Cookies as `name=value`, the form in which they are sent. */
	readonly cookies: Map<string, string>;
	open(url: string | URL): Promise<Visited>;
	/** Submits the form that has the button `action`. */
	press(page: Visited, action: string, fields?: Record<string, string>, headers?: Record<string, string>): Promise<Visited>;
}

const MAX_REDIRECTS = 5;

export function openBrowser(): Browser {
	const cookies = new Map<string, string>();
	const visit = async (url: URL, init: RequestInit = {}, redirects = 0): Promise<Visited> => {
		const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
		const headers = { accept: 'text/html', ...(cookie !== '' && { cookie }), ...(init.headers as Record<string, string> | undefined) };
		const response = await fetch(url, { ...init, headers, redirect: 'manual' });
		for (const set of response.headers.getSetCookie()) {
			const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(set) ?? [];
			if (/Max-Age=0/i.test(set)) cookies.delete(name);
			else cookies.set(name, value);
		}
		const html = await response.text();
		const location = leads(response, html);
		const here = { status: response.status, headers: response.headers, html };
		if (location === null) return { ...here, url, left: false };
		const next = new URL(location, url);
		if (next.origin !== url.origin) return { ...here, url: next, left: true };
		if (redirects === MAX_REDIRECTS) throw new Error('too many redirects');
		return visit(next, {}, redirects + 1);
	};
	return {
		cookies,
		open: (url) => visit(new URL(url)),
		press(page, action, fields = {}, headers = {}) {
			const form = forms(page.html).find(({ buttons }) => buttons.includes(action));
			if (!form) throw new Error(`There is no button "${action}" on the page: ${page.html.slice(0, 2000)}`);
			const body = new URLSearchParams({ ...form.fields, ...fields, action });
			return visit(new URL(form.action, page.url), { method: 'POST', headers: { origin: page.url.origin, ...headers }, body });
		},
	};
}

/** Finds the address to which a response sends the browser immediately: by a redirect, or by a page that refreshes to it. */
function leads({ status, headers }: Response, html: string): string | null {
	if (status >= 300 && status <= 399) return headers.get('location');
	const [, target] = /<meta http-equiv="refresh" content="0;url=([^"]*)">/.exec(html) ?? [];
	return target === undefined ? null : unescaped(target);
}

interface Form {
	action: string;
	fields: Record<string, string>;
	buttons: string[];
}

function forms(html: string): Form[] {
	return [...html.matchAll(/<form[^>]*action="([^"]*)"[^>]*>([\s\S]*?)<\/form>/g)].map(([, action = '', inner = '']) => ({
		action: unescaped(action),
		fields: Object.fromEntries(
			[...inner.matchAll(/<input([^>]*)>/g)].map(([, attributes = '']) => [attribute(attributes, 'name'), attribute(attributes, 'value')]),
		),
		buttons: [...inner.matchAll(/<button([^>]*)>/g)].map(([, attributes = '']) => attribute(attributes, 'value')),
	}));
}

const attribute = (text: string, name: string): string => unescaped(new RegExp(`\\b${name}="([^"]*)"`).exec(text)?.[1] ?? '');

const unescaped = (text: string): string =>
	text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&quot;', '"').replaceAll('&#39;', "'").replaceAll('&amp;', '&');
