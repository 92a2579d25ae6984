// Results that were cut, as resources: `gatehouse://results/<id>/<page>`.

import type { Call, Incoming, ResultLink } from '../../../core/index.ts';
import type { ResourceContents, ResourceReader } from '../resources/readers.ts';

const URI = /^gatehouse:\/\/results\/([\w-]+)\/([1-9]\d{0,4})$/;
/** Names the next page to clients that read on by themselves. */
const NEXT = 'gatehouse/next';

const uriOf = (id: string, page: number): string => `gatehouse://results/${id}/${page}`;

/** Reads the pages of results that this caller was given the beginning of. */
export const keptResults: ResourceReader = {
	matches: (uri) => URI.test(uri),
	async read(uri, call) {
		const [, id = '', number = ''] = URI.exec(uri) ?? [];
		const found = await call.kept(id, Number(number));
		if (!found) return null;
		const { page, pages, mimeType } = found;
		const next = page < pages ? { _meta: { [NEXT]: uriOf(id, page + 1) } } : {};
		const contents: ResourceContents = { uri, mimeType, ...('text' in found ? { text: found.text } : { blob: found.blob }), ...next };
		return [contents];
	},
};

const link: ResultLink = ({ id, pages, bytes, mimeType }) => {
	const range = pages === 1 ? 'is' : `has ${pages} pages, the last of them ${uriOf(id, pages)}, and the first`;
	return {
		how: `Ask for less, or read the whole within ten minutes by resources/read: it ${range} ${uriOf(id, 1)}.`,
		link: { type: 'resource_link', uri: uriOf(id, 1), name: 'whole result', mimeType, ...(pages === 1 && { size: bytes }) },
	};
};

/** Clients of earlier revisions know no such block, and may refuse a result that has one: the label is enough. */
const worded: ResultLink = (kept) => ({ how: link(kept).how });

/** The first revision with resource links is 2025-06-18, which also was the first to send its version in a header. */
const WITH_LINKS = '2025-06-18';

/** Returns a call whose results are kept where they are cut. @param strictOutput whether they must keep their tool's output schema */
export function keepingCall(call: Call, headers: Incoming['headers'], strictOutput: boolean): Call {
	const version = headers['mcp-protocol-version']?.trim() ?? '';
	return call.with({ keep: version >= WITH_LINKS ? link : worded, ...(strictOutput && { strictOutput }) });
}
