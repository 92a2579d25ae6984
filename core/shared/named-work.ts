// Work of requests that another request may end, on whichever replica: kept by the hash of its name, ended by an announcement.

import { createHash } from 'node:crypto';
import type { BegunWork, NamedWork } from '../contract/following.ts';
import type { Caller } from '../contract/nouns.ts';
import { BoundedMap } from '../kit/bounded-map.ts';
import type { Changes, Topic } from '../store/store.ts';

/** The time for which an end is remembered: the work may arrive after it, on another connection or replica. */
const REMEMBERED_MS = 10_000;
/** Ends that are remembered: of the organizations that had one last, and of each. */
const ORGANIZATIONS = 1_000;
const OF_ORGANIZATION = 200;
const HASH_LENGTH = 32;
const TOPIC = /^work:([\w-]{1,64}):([\w-]{1,64})$/;

/** The owner of names: a plugin, and a caller at one gateway or in one organization. */
export interface WorkScope {
	/** `kind:name`. */
	plugin: string;
	organizationId: string;
	gateway: { id: string } | null;
	caller: Caller | null;
}

export class NamedWorks {
	readonly #changes: Pick<Changes, 'announce'>;
	readonly #begun = new Map<Topic, Set<AbortController>>();
	/** By organization and topic, the time until which an end is remembered, by the clock of `performance`. */
	readonly #ended = new BoundedMap<string, BoundedMap<Topic, number>>(ORGANIZATIONS);
	readonly #unsubscribe: () => void;

	constructor(changes: Pick<Changes, 'announce' | 'subscribe'>) {
		this.#changes = changes;
		this.#unsubscribe = changes.subscribe((topics) => this.#hear(topics));
	}

	/** The number of names under which something was begun and is not finished. */
	get size(): number {
		return this.#begun.size;
	}

	of(scope: WorkScope): NamedWork {
		return {
			begin: (name) => this.#begin(scope.organizationId, topicOf(scope, name)),
			end: (name) => this.#changes.announce(topicOf(scope, name)),
		};
	}

	close(): void {
		this.#unsubscribe();
	}

	#begin(organizationId: string, topic: Topic): BegunWork {
		const work = new AbortController();
		const others = this.#begun.get(topic) ?? new Set();
		this.#begun.set(topic, others.add(work));
		if ((this.#ended.get(organizationId)?.get(topic) ?? 0) > performance.now()) work.abort(cancelled());
		return { signal: work.signal, finish: () => this.#finish(topic, work) };
	}

	#finish(topic: Topic, work: AbortController): void {
		const begun = this.#begun.get(topic);
		begun?.delete(work);
		if (begun?.size === 0) this.#begun.delete(topic);
	}

	#hear(topics: readonly Topic[]): void {
		for (const topic of topics) {
			const [, organizationId] = topic.startsWith('work:') ? (TOPIC.exec(topic) ?? []) : [];
			if (organizationId !== undefined) this.#end(organizationId, topic);
		}
	}

	#end(organizationId: string, topic: Topic): void {
		const begun = this.#begun.get(topic);
		for (const work of begun ?? []) work.abort(cancelled());
		if (begun) return;
		const ended = this.#ended.get(organizationId) ?? new BoundedMap(OF_ORGANIZATION);
		this.#ended.set(organizationId, ended.set(topic, performance.now() + REMEMBERED_MS));
	}
}

const cancelled = (): Error => new Error('The client cancelled the call.');

function topicOf({ plugin, organizationId, gateway, caller }: WorkScope, name: string): Topic {
	const owner = [plugin, gateway?.id ?? null, caller?.subject ?? null, caller?.credential ?? null, name];
	const hash = createHash('sha256').update(JSON.stringify(owner)).digest('base64url');
	return `work:${organizationId}:${hash.slice(0, HASH_LENGTH)}`;
}
