// Writes the messages of a prompt from filled-in templates.

import {
	type ChatMessage,
	type ChatPart,
	GatewayError,
	historyOf,
	isBase64,
	isObject,
	type Json,
	promptText,
} from '../../../core/index.ts';

/** The templates of a prompt, filled in. */
export interface Prompt {
	system: Json;
	user: Json;
	history: Json;
	images: Json;
}

const MOST_IMAGES = 20;

type Image = Exclude<ChatPart, { type: 'text' }>;

/** @throws validation_failed naming what does not fit */
export function messagesOf({ system, user, history, images }: Prompt): ChatMessage[] {
	const parts = imagesOf(images);
	const text = promptText(user);
	const content = parts.length === 0 ? text : [{ type: 'text' as const, text }, ...parts];
	const instructions: ChatMessage[] = system === null || system === '' ? [] : [{ role: 'system', content: promptText(system) }];
	return [...instructions, ...historyOf(history), { role: 'user', content }];
}

function imagesOf(value: Json): Image[] {
	if (value === null) return [];
	const images = (Array.isArray(value) ? value : [value]).flat().filter((image) => image !== null);
	if (images.length > MOST_IMAGES)
		throw new GatewayError('validation_failed', `"images" has ${images.length} images: ${MOST_IMAGES} are allowed.`);
	return images.map((image, at) => {
		const part = typeof image === 'string' ? fromUrl(image) : fromObject(image);
		if (!part || !isBase64(part.data))
			throw new GatewayError(
				'validation_failed',
				`"images", image ${at + 1}: it must be a data URL of an image, or {"data", "mimeType"}, with its content in base64.`,
			);
		return part;
	});
}

const DATA_URL = /^data:(image\/[\w.+-]+);base64,/;
const IMAGE_TYPE = /^image\/[\w.+-]+$/;

function fromUrl(url: string): Image | null {
	const [start = '', mimeType = ''] = DATA_URL.exec(url.slice(0, 200)) ?? [];
	return start === '' ? null : { type: 'image', data: url.slice(start.length), mimeType };
}

function fromObject(image: Json): Image | null {
	const { data, mimeType } = isObject(image) ? image : {};
	if (typeof data !== 'string' || typeof mimeType !== 'string' || !IMAGE_TYPE.test(mimeType)) return null;
	return { type: 'image', data, mimeType };
}
