// Icons of servers and tools (2025-11-25 and later, basic, "Icons").

import type { JsonObject } from '../../../core/index.ts';

const DATA_TYPE = /^data:(image\/[a-z+]+);/;

/** @param url by https, or with the image in it: core stores no others */
export function iconsOf(url: string): JsonObject[] {
	const mimeType = DATA_TYPE.exec(url)?.[1];
	return [{ src: url, ...(mimeType !== undefined && { mimeType }) }];
}
