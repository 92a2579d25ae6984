// Reads the disk and memory that the process has left, within the limits of its container where there are any.

import { statfs } from 'node:fs/promises';
import { totalmem } from 'node:os';
import Joi from 'joi';
import { count, shape } from '../../../core/features.ts';

/** The free share below which disk or memory is reported as low. */
const LOW = 0.05;

const bytes = count.description('Bytes.');

export const DISK = shape({
	status: Joi.string().valid('ok', 'low', 'unknown').description('`low`: less than a twentieth is free.'),
	freeBytes: bytes.optional(),
	totalBytes: bytes.optional(),
}).description('Where the service keeps its data.');

export const MEMORY = shape({
	status: Joi.string().valid('ok', 'low').description('`low`: less than a twentieth is free.'),
	residentBytes: count.description('Bytes that this process holds.'),
	freeBytes: bytes,
	totalBytes: bytes,
});

const rate = (freeBytes: number, totalBytes: number): 'ok' | 'low' => (freeBytes < totalBytes * LOW ? 'low' : 'ok');

/** Measures the disk of a folder. @param folder need not exist yet */
export async function disk(folder: string) {
	const found = await statfs(folder)
		.catch(() => statfs('.'))
		.catch(() => null);
	if (!found) return { status: 'unknown' };
	const freeBytes = found.bavail * found.bsize;
	const totalBytes = found.blocks * found.bsize;
	return { status: rate(freeBytes, totalBytes), freeBytes, totalBytes };
}

export function memory() {
	const freeBytes = process.availableMemory();
	// The limit is 0, or more than the machine has, where no container sets one.
	const totalBytes = Math.min(totalmem(), process.constrainedMemory() || Infinity);
	return { status: rate(freeBytes, totalBytes), residentBytes: process.memoryUsage.rss(), freeBytes, totalBytes };
}
