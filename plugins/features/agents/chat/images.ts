// Images that a conversation names by their addresses: they are fetched through the guard, once, and sent to every provider as data.

import type { Request } from '@hapi/hapi';
import { asGatewayError, type Core, GatewayError, invalid, organizationOf } from '../../../../core/features.ts';
import type { ChatBody, ChatMessageField, ChatPartField } from './fields.ts';

const MOST = 8;
const KiB = 1024;
/** The bytes of one image, and of all of a request: they are kept with the run, as those of data URLs are. */
const MAX_BYTES = 1024 * KiB;
const MAX_ALL_BYTES = 2 * MAX_BYTES;
/** The time for all of them. */
const TIMEOUT_MS = 15_000;
/** The types that models take, by the first bytes of a file: what a server says of it is not believed. */
const TYPES: [type: string, start: RegExp][] = [
	['image/png', /^\x89PNG\r\n/],
	['image/jpeg', /^\xff\xd8\xff/],
	['image/gif', /^GIF8[79]a/],
	['image/webp', /^RIFF[\s\S]{4}WEBP/],
];
const START_BYTES = 16;

interface Named {
	path: string;
	image: NonNullable<ChatPartField['image_url']>;
}

/** Puts data URLs in place of the addresses of images in the user's messages from this one on. @throws validation_failed naming the part */
export async function fetchImages(request: Request, core: Core, from: number, signal: AbortSignal): Promise<void> {
	// The body has passed CHAT.
	const { messages } = request.payload as ChatBody;
	const named = messages.flatMap(({ role, content }, at) => (role === 'user' && at >= from ? namedIn(content, at) : []));
	const beyond = named[MOST];
	if (beyond) throw invalid(beyond.path, `A request may name ${MOST} images by their addresses.`);
	let left = MAX_ALL_BYTES;
	const untilMs = performance.now() + TIMEOUT_MS;
	// One after the other, so that their sum is bounded while they come.
	for (const { path, image } of named) {
		const bytes = await fetched(request, core, { path, url: image.url, maxBytes: Math.min(left, MAX_BYTES), untilMs, signal });
		left -= bytes.length;
		const [type] = TYPES.find(([, start]) => start.test(bytes.toString('latin1', 0, START_BYTES))) ?? [];
		if (type === undefined) throw invalid(path, 'What is at this address is no PNG, JPEG, GIF or WebP image.');
		image.url = `data:${type};base64,${bytes.toString('base64')}`;
	}
}

const namedIn = (content: ChatMessageField['content'], at: number): Named[] =>
	(Array.isArray(content) ? content : []).flatMap(({ type, image_url: image }, part) =>
		type === 'image_url' && image && /^https?:/i.test(image.url) ? [{ path: `/messages/${at}/content/${part}/image_url/url`, image }] : [],
	);

interface ImageRequest {
	path: string;
	url: string;
	maxBytes: number;
	untilMs: number;
	signal: AbortSignal;
}

async function fetched(request: Request, core: Core, { path, url, maxBytes, untilMs, signal }: ImageRequest): Promise<Buffer> {
	try {
		const egress = core.egress.of(organizationOf(request).id);
		const { status, body } = await egress.request({
			method: 'GET',
			url,
			headers: { accept: 'image/*' },
			timeoutMs: Math.max(1, untilMs - performance.now()),
			maxBytes,
			signal,
		});
		if (status !== 200) throw invalid(path, `The address of the image answered with status ${status}.`);
		return body;
	} catch (thrown) {
		const error = asGatewayError(thrown);
		if (!error || error.code === 'validation_failed' || signal.aborted) throw thrown;
		// A fault of the address is one of the request: no client repeats it.
		throw new GatewayError('validation_failed', `The image could not be fetched: ${error.message}`, {
			details: [{ path, message: error.message }],
		});
	}
}
