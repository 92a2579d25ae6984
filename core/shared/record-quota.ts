// The most that one plugin stores for one organization with all of its gateways. Its rows are counted now and then: a process counts again
// when it may have added half of what was left. So two replicas do not exceed the bound, and n of them store at most n/2 times as much, whatever
// they do at once.

import { GatewayError } from '../contract/errors.ts';
import { BoundedMap } from '../kit/bounded-map.ts';
import type { RecordStore, RecordUsage } from '../store/store.ts';

const MOST: RecordUsage = { records: 100_000, bytes: 1024 * 1024 * 1024 };
const COUNTED_MS = 60_000;
/** Counting reads all rows, so a full place is not counted anew for each refusal. */
const FULL_MS = 1_000;
const PLACES = 10_000;
/** The most bytes that a character of JSON takes in PostgreSQL. */
const CHAR_BYTES = 3;
/**
 * The bytes by which an update may make its record larger where there is no room: the first refresh of a login adds an entry to its record, and
 * logins must go on.
 */
const SLIGHT_BYTES = 1024;
/** The characters of an empty value, as `measureJson` counts them: such a record only tells that it is there, and is bounded by its number. */
const EMPTY_CHARS = 4;
/**
 * The multiple of the most bytes from which on nothing passes any more. PostgreSQL compresses values, so one that is no longer than its
 * predecessor may still take more room.
 */
const OVERFULL = 2;

/** The number of records and bytes that may be added before the next count. */
interface Left extends RecordUsage {
	isFull: boolean;
	/** True when there is no room even for empty records, and updates that make their records hardly larger. */
	isOverfull: boolean;
	untilMs: number;
}

/** A change that takes room. */
export interface Addition {
	chars: number;
	/** Tells whether it adds a record; asked only where there is no room for another one. Absent: it never does. */
	isNew?: () => Promise<boolean>;
	/** Returns the bytes by which it makes its record larger; asked only where there is no room for more. Absent: it is all new. */
	growth?: () => Promise<number>;
}

export class RecordQuota {
	readonly #store: Pick<RecordStore, 'usage'>;
	readonly #most: RecordUsage;
	readonly #places = new BoundedMap<string, Promise<Left>>(PLACES);

	constructor(store: Pick<RecordStore, 'usage'>, most = MOST) {
		this.#store = store;
		this.#most = most;
	}

	/** @throws conflict when there is no room, unavailable */
	async assertRoom(organizationId: string, plugin: string, { chars, isNew, growth }: Addition): Promise<void> {
		const left = await this.#left(organizationId, plugin);
		const isSlight = async (): Promise<boolean> =>
			!left.isOverfull && (chars <= EMPTY_CHARS || (growth !== undefined && (await growth()) <= SLIGHT_BYTES));
		if (left.bytes <= 0 && !(await isSlight())) throw full(plugin, this.#most);
		if (isNew && left.records <= 0 && (await isNew())) throw full(plugin, this.#most);
		left.bytes -= chars * CHAR_BYTES;
		if (isNew) left.records--;
	}

	async #left(organizationId: string, plugin: string): Promise<Left> {
		const place = `${organizationId} ${plugin}`;
		const counted = this.#places.get(place);
		const left = await counted;
		if (left && isValid(left)) return left;
		// Another caller may have begun to count meanwhile.
		const begun = this.#places.get(place);
		return begun && begun !== counted ? begun : this.#count(place, organizationId, plugin);
	}

	#count(place: string, organizationId: string, plugin: string): Promise<Left> {
		const counting = this.#store.usage(organizationId, plugin).then(({ records, bytes }) => leave(this.#most, { records, bytes }));
		this.#places.set(place, counting);
		counting.catch(() => this.#places.get(place) === counting && this.#places.delete(place));
		return counting;
	}
}

const isValid = ({ isFull, records, bytes, untilMs }: Left): boolean =>
	performance.now() < untilMs && (isFull || (records > 0 && bytes > 0));

function leave(most: RecordUsage, used: RecordUsage): Left {
	const [records, bytes] = [most.records - used.records, most.bytes - used.bytes];
	const isFull = records <= 0 || bytes <= 0;
	const isOverfull = used.bytes >= most.bytes * OVERFULL;
	const untilMs = performance.now() + (isFull ? FULL_MS : COUNTED_MS);
	return { records: Math.ceil(records / 2), bytes: bytes / 2, isFull, isOverfull, untilMs };
}

const full = (plugin: string, { records, bytes }: RecordUsage): GatewayError =>
	new GatewayError(
		'conflict',
		`${plugin} stores the most that a plugin may for one organization, ${records} records or ${bytes / 1024 / 1024} MiB: remove some of them first.`,
	);
