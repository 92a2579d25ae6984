// Whether a request would rather have a page for a person than a message for a program (RFC 9110 §12.5.1).

const RANGE = /^\s*([^\s;]+)\s*((?:;[^,]*)?)$/;

/** Tells whether HTML is preferred to all that the protocol answers with. Programs that take anything do not prefer it. */
export function prefersHtml(accept: string | undefined): boolean {
	const ranges = (accept ?? '').split(',').flatMap((text) => {
		const [, type = '', parameters = ''] = RANGE.exec(text) ?? [];
		return type === '' ? [] : [{ type: type.toLowerCase(), weight: weightOf(parameters) }];
	});
	const weight = (type: string): number => {
		const [family] = type.split('/');
		for (const name of [type, `${family}/*`, '*/*']) {
			const found = ranges.find((range) => range.type === name);
			if (found) return found.weight;
		}
		return 0;
	};
	const others = Math.max(weight('application/json'), weight('text/event-stream'));
	return weight('text/html') > others;
}

/** A weight that is no number counts as none: 1. */
function weightOf(parameters: string): number {
	const [, q = '1'] = /;\s*q\s*=\s*([\d.]+)/i.exec(parameters) ?? [];
	return Number.isNaN(Number(q)) ? 1 : Number(q);
}
