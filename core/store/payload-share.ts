// Bounds the arguments and results that the request log keeps: of all that wait to be written, and of one organization in a day.

import { BoundedMap } from '../kit/bounded-map.ts';
import type { RequestRow } from './analytics.ts';

const MAX_WAITING_CHARS = 32 * 1024 * 1024;
/** The share of an organization in each process and day. */
export const MAX_DAILY_CHARS = 64 * 1024 * 1024;
const DAY_MS = 24 * 60 * 60 * 1000;
const ORGANIZATIONS = 10_000;

export const payloadChars = ({ arguments: args, result }: Pick<RequestRow, 'arguments' | 'result'>): number =>
	(args?.length ?? 0) + (result?.length ?? 0);

export class PayloadShare {
	readonly #today = new BoundedMap<string, { day: number; chars: number }>(ORGANIZATIONS);
	#waiting = 0;

	/** Takes the payloads of a line into account, or out of the line where there is no room for them. */
	admit(row: RequestRow): void {
		const chars = payloadChars(row);
		if (chars === 0) return;
		const day = Math.floor(row.startedAt / DAY_MS);
		const known = this.#today.get(row.organizationId);
		const spent = known?.day === day ? known.chars : 0;
		if (this.#waiting + chars > MAX_WAITING_CHARS || spent + chars > MAX_DAILY_CHARS) {
			row.arguments = null;
			row.result = null;
			return;
		}
		this.#today.set(row.organizationId, { day, chars: spent + chars });
		this.#waiting += chars;
	}

	/** Frees the room of lines that wait no more. @param chars of their payloads */
	release(chars: number): void {
		this.#waiting -= chars;
	}
}
