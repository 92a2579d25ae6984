// The members of an object that are still to be written, each with its values.

import { invalid, type Json } from '../../../core/index.ts';
import type { Given } from './any.ts';
import { elementsOf, isElement, itemsOf, keyOf, type Particle, type TypeModel } from './model.ts';
import { pointer } from './names.ts';
import { endsStep, type Steps } from './steps.ts';

export interface Pending {
	/** Whether the particle has a value to write. */
	has(particle: Particle): boolean;
	/** Number of different members that a particle would write. */
	covers(particle: Particle): number;
	/** Whether all values that the particle requires are there. */
	completes(particle: Particle): boolean;
	/** Takes the next values of an element, at most so many. @returns each with its pointer */
	take(key: string, most: number): Iterable<{ value: Json; at: string }>;
	/** Takes all members that the type does not describe. */
	takeOthers(): { key: string; value: Json; at: string }[];
	/** @throws validation_failed naming the first member that was not taken */
	assertEmpty(): void;
}

/** @param attributes keys that are written as attributes */
export function* pendingOf({ members, names }: Given, type: TypeModel, attributes: ReadonlySet<string>, at: string): Steps<Pending> {
	const many = new Map<string, boolean>();
	for (const [index, element] of elementsOf(type.of ?? []).entries()) {
		if (endsStep(index)) yield;
		many.set(keyOf(element), element.many === true);
	}
	const queues = new Map<string, { values: Json[]; taken: number }>();
	let others: { key: string; value: Json; at: string }[] = [];
	for (const [index, key] of names.entries()) {
		if (endsStep(index)) yield;
		if (attributes.has(key)) continue;
		const member = members[key] ?? null;
		const isMany = many.get(key);
		if (isMany === undefined) others.push({ key, value: member, at: pointer(at, key) });
		else queues.set(key, { values: isMany && Array.isArray(member) ? member : [member], taken: 0 });
	}
	const left = (key: string): number => {
		const queue = queues.get(key);
		return queue ? queue.values.length - queue.taken : 0;
	};
	const has = (particle: Particle): boolean => {
		if (isElement(particle)) return left(keyOf(particle)) > 0;
		return particle.any === true ? others.length > 0 : itemsOf(particle).some(has);
	};
	const completes = (particle: Particle): boolean => {
		if (isElement(particle)) return particle.optional === true || particle.fixed !== undefined || has(particle);
		if (particle.any || (particle.optional && !has(particle))) return true;
		return particle.choice ? particle.choice.some(completes) : itemsOf(particle).every(completes);
	};
	return {
		has,
		completes,
		covers(particle) {
			if (isElement(particle)) return Number(has(particle));
			const keys = elementsOf(itemsOf(particle)).map(keyOf);
			return new Set(keys.filter((key) => left(key) > 0)).size || Number(has(particle));
		},
		*take(key, most) {
			const queue = queues.get(key);
			if (!queue) return;
			const { values } = queue;
			const isList = many.get(key) === true && values.length > 1;
			for (const end = Math.min(values.length, queue.taken + most); queue.taken < end; queue.taken++)
				yield { value: values[queue.taken] ?? null, at: isList ? `${pointer(at, key)}/${queue.taken}` : pointer(at, key) };
		},
		takeOthers() {
			const taken = others;
			others = [];
			return taken;
		},
		assertEmpty() {
			const [other] = others;
			if (other) throw invalid(other.at, `${other.at} is unknown. Known: ${[...many.keys()].slice(0, 20).join(', ') || 'nothing'}.`);
			const extra = queues.keys().find((key) => left(key) > 0);
			if (extra === undefined) return;
			throw invalid(
				pointer(at, extra),
				`${pointer(at, extra)} cannot be sent beside the other values: the service accepts one alternative of a choice, and no more values of this member.`,
			);
		},
	};
}
