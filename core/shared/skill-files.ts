// Contents of skills' files, read when they are needed. A content is kept under its digest, so no change makes it wrong.

import { createHash } from 'node:crypto';
import type { Skill } from '../contract/skills.ts';
import { SizedCache, withOwnMemory } from '../kit/sized-cache.ts';
import type { Store } from '../store/store.ts';

/** The bytes kept in this process, for all organizations. */
const KEPT_BYTES = 32 * 1024 * 1024;

export class SkillFiles {
	readonly #store: Pick<Store, 'skills'>;
	readonly #kept = new SizedCache<Buffer>(KEPT_BYTES);

	constructor(store: Pick<Store, 'skills'>) {
		this.#store = store;
	}

	/**
	 * Returns a copy of a file's content; null when the skill has no file at this path. One that changed a moment ago is returned as it is now.
	 * @throws unavailable
	 */
	async read({ organizationId, id, files }: Pick<Skill, 'organizationId' | 'id' | 'files'>, path: string): Promise<Buffer | null> {
		const file = files.find((one) => one.path === path);
		if (!file) return null;
		const key = `${organizationId}:${id}:${file.digest}`;
		const kept = this.#kept.get(key);
		if (kept) return Buffer.from(kept);
		const content = await this.#store.skills.content(organizationId, id, path);
		if (!content) return null;
		if (digestOf(content) === file.digest) this.#kept.put(key, withOwnMemory(content), content.length);
		return Buffer.from(content);
	}
}

const digestOf = (content: Buffer): string => `sha256:${createHash('sha256').update(content).digest('hex')}`;
