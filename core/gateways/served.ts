// Follows what a gateway serves, or the gateways of a merged call: woken by the changes of its organization on any replica, it compares versions.

import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { asGatewayError } from '../contract/errors.ts';
import type { ServedVersions } from '../contract/following.ts';
import type { Tool } from '../contract/nouns.ts';
import { Wakeup } from '../runs/wakeup.ts';
import type { Changes } from '../store/store.ts';
import type { CallParts, ToolShelf } from '../tools/call-parts.ts';
import type { MergedGateways } from './merged.ts';
import type { MountedGateway } from './mount.ts';

/** Changes of this time are one: an import makes many, and each has the gateway prepared again. */
const MERGE_MS = 250;
const RETRY_MS = 500;
/** The time after which somebody looks without having heard of a change. */
const IDLE_MS = 60_000;
const VERSION_LENGTH = 16;

export interface FollowedParts {
	changes: Pick<Changes, 'subscribe'>;
	/** Returns the prepared gateway of an address, as requests to it get it. */
	gatewayAt(organizationSlug: string, endpoint: string): Promise<MountedGateway | null>;
	merged: Pick<MergedGateways, 'shelfOf' | 'settingsOf'>;
}

export class Served {
	readonly #parts: FollowedParts;
	readonly #waiting = new Map<string, Set<Wakeup>>();
	readonly #unsubscribe: () => void;

	/** Must be made after the caches of gateways, which drop what has changed before anybody looks. */
	constructor(parts: FollowedParts) {
		this.#parts = parts;
		this.#unsubscribe = parts.changes.subscribe((topics) => this.#hear(topics));
	}

	/** The organizations whose changes somebody waits for. */
	get size(): number {
		return this.#waiting.size;
	}

	async *follow(call: CallParts, signal: AbortSignal): AsyncGenerator<ServedVersions, void> {
		const wakeup = new Wakeup();
		const leave = this.#enter(call.organizationId, wakeup);
		try {
			for (let last = ''; !signal.aborted; ) {
				const now = await this.#look(call).catch(unlessAway);
				if (now === null) return;
				const shown = JSON.stringify(now);
				if (now && shown !== last) yield now;
				if (now) last = shown;
				await wakeup.wait(now ? IDLE_MS : RETRY_MS, signal);
				if (!signal.aborted) await sleep(MERGE_MS, undefined, { signal }).catch(() => undefined);
			}
		} finally {
			leave();
		}
	}

	close(): void {
		this.#unsubscribe();
		for (const waiting of this.#waiting.values()) for (const wakeup of waiting) wakeup.notify();
	}

	#enter(organizationId: string, wakeup: Wakeup): () => void {
		const waiting = this.#waiting.get(organizationId) ?? new Set();
		this.#waiting.set(organizationId, waiting.add(wakeup));
		return () => {
			waiting.delete(wakeup);
			if (waiting.size === 0 && this.#waiting.get(organizationId) === waiting) this.#waiting.delete(organizationId);
		};
	}

	#hear(topics: readonly string[]): void {
		if (topics.includes('*')) for (const waiting of this.#waiting.values()) for (const wakeup of waiting) wakeup.notify();
		for (const topic of topics)
			if (topic.startsWith('org:')) for (const wakeup of this.#waiting.get(topic.slice('org:'.length)) ?? []) wakeup.notify();
	}

	/** @returns null when there is no such gateway any more. @throws unavailable */
	async #look({ gateway, organizationId, reach, incoming, shelf }: CallParts): Promise<ServedVersions | null> {
		if (gateway) {
			const mounted = await this.#parts.gatewayAt(gateway.organizationSlug, gateway.endpoint);
			return mounted?.gateway.id === gateway.id ? versionsOf(mounted.shelf, mounted.version) : null;
		}
		if (!reach) return versionsOf(shelf, '');
		const { merged } = this.#parts;
		const [itsShelf, settings] = await Promise.all([
			merged.shelfOf({ organizationId, gateways: reach.gateways, incoming }),
			merged.settingsOf(organizationId),
		]);
		return versionsOf(itsShelf, hashOf(settings));
	}
}

/** Ignores that the database is unavailable for a moment: whoever follows waits. */
function unlessAway(thrown: unknown): undefined | null {
	const code = asGatewayError(thrown)?.code;
	if (code === 'unavailable') return undefined;
	if (code === 'not_found' || code === 'forbidden') return null;
	throw thrown;
}

export function versionsOf(shelf: ToolShelf | null, settings: string): ServedVersions {
	const tools = versionOfList(shelf?.list() ?? [], shownOf);
	const skills = versionOfList(shelf?.skills() ?? [], ({ id, version }) => [id, version]);
	return {
		...{ tools, skills, settings },
		ofTool(name) {
			const tool = shelf?.find({ name })?.tool;
			return tool ? hashOf(shownOf(tool)) : null;
		},
		ofSkillFile(skillName, path) {
			const file = shelf
				?.skills()
				.find(({ name }) => name === skillName)
				?.files.find((one) => one.path === path);
			return file ? hashOf(file.digest) : null;
		},
	};
}

const shownOf = ({ id, version, name, description }: Tool): unknown => [id, version, name, description];

const known = new WeakMap<readonly object[], string>();

function versionOfList<T extends object>(list: readonly T[], shown: (item: T) => unknown): string {
	const version = known.get(list) ?? hashOf(list.map(shown));
	known.set(list, version);
	return version;
}

const hashOf = (value: unknown): string => createHash('sha256').update(JSON.stringify(value)).digest('base64url').slice(0, VERSION_LENGTH);
