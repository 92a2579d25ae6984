// Hits that are counted in Redis: all of one turn of the event loop in one call of one script, and all that come until it has answered in the
// next, so that a busy process pays for few round trips. A hit is counted as exactly as it would be alone.

import { defineScript, type Shared } from '../shared/redis.ts';

/** One window that a hit asks for. */
export interface AskedWindow {
	key: string;
	/** The greatest count that it may have. */
	max: number;
	/** Its remaining time as far as this process knows, in milliseconds. */
	leftMs: number;
	/** The hits to add: 0 only looks. */
	cost: number;
	/** The hits that this process counted alone and has not reported. */
	unreported: number;
	/** The least count that it must have by now, even if Redis lost it. */
	floor: number;
}

export interface CountedHit {
	/** Index of the window that refuses; -1 when none does. */
	refusedBy: number;
	/** One per window, in their order. `leftMs` is below 1 where there is no window. */
	windows: { count: number; leftMs: number }[];
}

/**
 * Takes hits one after the other: for each the number of its windows, then six numbers of each, of which the first is the place of its key. They
 * are one text, since the client spends more on each argument than on all of these numbers. Each window is read once and written once, however
 * many hits count in it. All or nothing: either every window of a hit has room and all are counted, or none is. Of the full windows, the one that
 * ends last refuses: a client that waits for it finds room in all. The answer holds for each hit the refusing window (0: none), then the count and
 * the remaining time of each.
 */
const HITS = defineScript(`
local numbers, stored, now, lefts, renewed = cjson.decode(ARGV[1]), {}, {}, {}, {}
for key = 1, #KEYS do
	stored[key] = tonumber(redis.call('GET', KEYS[key]) or '0')
	now[key], lefts[key] = stored[key], redis.call('PTTL', KEYS[key])
end
local answer, arg = {}, 0
while arg < #numbers do
	local size, refused, last = numbers[arg + 1], 0, -1
	for i = 1, size do
		local at = arg + (i - 1) * 6 + 2
		local key, max, leftMs, cost, unreported, floor = unpack(numbers, at, at + 5)
		local ends = (lefts[key] < 0 or (unreported > 0 and lefts[key] < leftMs)) and leftMs or lefts[key]
		if math.max(now[key], floor) + unreported + math.max(cost, 1) > max and ends > last then refused, last = i, ends end
	end
	answer[#answer + 1] = refused
	for i = 1, size do
		local at = arg + (i - 1) * 6 + 2
		local key, max, leftMs, cost, unreported, floor = unpack(numbers, at, at + 5)
		local count = math.max(now[key], floor) + unreported + (refused == 0 and cost or 0)
		if count > now[key] then
			now[key] = count
			if lefts[key] < 0 or (unreported > 0 and lefts[key] < leftMs) then lefts[key], renewed[key] = leftMs, true end
		end
		answer[#answer + 1], answer[#answer + 2] = count, lefts[key]
	end
	arg = arg + size * 6 + 1
end
for key = 1, #KEYS do
	if now[key] > stored[key] then redis.call('INCRBY', KEYS[key], now[key] - stored[key]) end
	if renewed[key] then redis.call('PEXPIRE', KEYS[key], lefts[key]) end
end
return answer`);

/** The windows of one call, so that Redis is never held up: beyond it, a turn makes several calls. */
export const WINDOWS_AT_ONCE = 200;

interface Waiting {
	/** The number of its windows. */
	size: number;
	/** Returns its windows as they are when it is sent: what was known of one that ends meanwhile must not be told of the next. */
	ask(): readonly AskedWindow[];
	resolve: (counted: CountedHit) => void;
	reject: (error: unknown) => void;
}

export class SharedHits {
	readonly #shared: Shared;
	#waiting: Waiting[] = [];
	#size = 0;
	/** The calls under way. Hits that come meanwhile are sent together, with their end. */
	#underWay = 0;

	constructor(shared: Shared) {
		this.#shared = shared;
	}

	/** Counts a hit with all others of this turn. @param ask called as it is sent, if it is @throws unavailable */
	hit(size: number, ask: Waiting['ask']): Promise<CountedHit> {
		if (this.#size + size > WINDOWS_AT_ONCE) this.#send();
		if (this.#waiting.length === 0 && this.#underWay === 0) setImmediate(() => this.#send());
		return new Promise((resolve, reject) => {
			this.#waiting.push({ size, ask, resolve, reject });
			this.#size += size;
		});
	}

	#send(): void {
		const sent = this.#take();
		if (sent.length === 0) return;
		const places = new Map<string, number>();
		const numbers: number[] = [];
		for (const { size, ask } of sent) {
			numbers.push(size);
			for (const { key, max, leftMs, cost, unreported, floor } of ask()) {
				const place = places.get(key) ?? places.size + 1;
				places.set(key, place);
				numbers.push(place, max, leftMs, cost, unreported, floor);
			}
		}
		const keys = Array.from(places.keys(), (key) => `limit:${key}`);
		this.#underWay++;
		const counting = this.#shared.run(HITS, keys, [JSON.stringify(numbers)]).then(
			(answer) => deliver(sent, answer),
			(error: unknown) => {
				// A hit that waits for the end of this call does not wait for another one in vain.
				for (const { reject } of [...sent, ...this.#take()]) reject(error);
			},
		);
		void counting.finally(() => {
			this.#underWay--;
			if (this.#underWay === 0) this.#send();
		});
	}

	#take(): Waiting[] {
		const taken = this.#waiting;
		this.#waiting = [];
		this.#size = 0;
		return taken;
	}
}

function deliver(sent: readonly Waiting[], answer: readonly number[]): void {
	let at = 0;
	for (const { size, resolve } of sent) {
		const windows: CountedHit['windows'] = [];
		for (let of = at + 1; of < at + 1 + size * 2; of += 2) windows.push({ count: answer[of] ?? 0, leftMs: answer[of + 1] ?? 0 });
		resolve({ refusedBy: (answer[at] ?? 0) - 1, windows });
		at += 1 + size * 2;
	}
}
