// Server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html), as far as MCP uses them: data and ids.

export interface ServerEvent {
	data: string;
	/** The id of the last event up to here that has one; empty when there is none. */
	id: string;
}

/** The most characters of an event: a result of a tool. */
const MAX_EVENT_CHARS = 64 * 1024 * 1024;

/** Reads events. @throws Error for an event that is too long */
export async function* readEvents(body: AsyncIterable<Uint8Array>): AsyncGenerator<ServerEvent, void> {
	const decoder = new TextDecoder();
	let pending: string[] = [];
	let data: string[] = [];
	let chars = 0;
	let id = '';
	for await (const chunk of body) {
		const text = decoder.decode(chunk, { stream: true });
		pending.push(text);
		chars += text.length;
		if (chars > MAX_EVENT_CHARS) throw new Error('An event of the gateway is too long.');
		// A long line comes in many chunks, and is joined once.
		if (!/[\r\n]/.test(text) && pending.at(-2)?.endsWith('\r') !== true) continue;
		// A CR at the end may be half of a line break.
		const lines = pending.join('').split(/\r\n|\n|\r(?!$)/);
		pending = [lines.pop() ?? ''];
		for (const line of lines) {
			if (line === '') {
				if (data.length > 0) yield { data: data.join('\n'), id };
				data = [];
				chars = 0;
				continue;
			}
			const [, field = '', value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
			if (field === 'data') data.push(value);
			if (field === 'id' && !value.includes('\0')) id = value;
		}
	}
}
