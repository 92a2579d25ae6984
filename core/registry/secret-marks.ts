// Reads the marks of a plugin's config, once, from the description of its schema: the places of secrets and destinations. A mark that
// cannot be honoured is a fault, which stops the start.

import type { Description } from 'joi';
import type { Json } from '../contract/nouns.ts';
import { type Condition, emptyPlace, type Option, type SecretMembers, type SecretPlace } from './secret-places.ts';
import { isBlank, someSecret } from './secret-walk.ts';

/** A part of Joi's description of a schema. */
type Part = Record<string, unknown>;
type Mutable = { -readonly [K in keyof SecretPlace]: SecretPlace[K] };

interface Marks {
	secret?: unknown;
	secretMembers?: unknown;
	destination?: unknown;
}

const MARKS = ['secret', 'secretMembers', 'destination'] as const;
/** Flags with which a schema takes a value for another one. */
const CHANGING = ['cast', 'empty', 'failover'];
/** The types of which no value is JSON. */
const NEVER_STORED: readonly string[] = ['function', 'symbol'];

/** The position of a schema: its path for messages, and the schemas around it, innermost first, with their keys. */
interface SchemaPosition {
	path: string;
	chain: readonly { part: Part; key: string | null }[];
}

/** Compiles the places of a config. @throws Error naming the field and what was expected */
export function secretPlaces(description: Description): SecretPlace {
	const compiler = new Compiler(description);
	return compiler.root;
}

class Compiler {
	readonly root: SecretPlace;
	readonly #places = new Map<Part, { place: Mutable; path: string }>();
	readonly #links: (() => string | null)[] = [];
	/** Names of fields that conditions may see with another value than the given one. */
	readonly #unsteady = new Set<string>();

	constructor(description: Part) {
		this.root = this.#place(description, { path: 'config', chain: [] }, null);
		if (this.root.isSecret) throw fault('config', 'the whole config is marked as secret; mark its fields instead');
		this.#doubt();
		const unresolved = this.#links.map((link) => link()).find((one) => one !== null);
		const hasMarks = this.#settle();
		this.#refuseStray(description, 'config');
		if (unresolved && hasMarks)
			throw fault(unresolved, 'a link beside secrets must lead to a schema under shared() or around it, so that what it marks is found');
		for (const { place, path } of this.#places.values()) refuseInner(place, path);
		for (const [part, { place, path }] of this.#places) refuseDefaults(part, place, path);
	}

	#place(part: Part, { path, chain }: SchemaPosition, key: string | null): SecretPlace {
		const place = blank(part, path);
		this.#places.set(part, { place, path });
		if (key !== null && isUnsteady(part)) this.#unsteady.add(key);
		const around = [{ part, key }, ...chain];
		const child = (one: unknown, step: string, name: string | null = null): SecretPlace =>
			this.#place(one as Part, { path: `${path}${step}`, chain: around }, name);
		place.keys = new Map(Object.entries(partOf(part['keys'])).map(([name, one]) => [name, child(one, `.${name}`, name)]));
		place.patterns = list(part['patterns']).map(({ regex, rule }) => ({ name: regexpOf(regex), place: child(rule, '.*') }));
		place.item = eitherOf([...list(part['items']), ...hasRules(part)].map((one) => child(one, '[]')));
		place.ordered = list(part['ordered']).map((one, at) => child(one, `[${at}]`));
		for (const one of list(part['shared'])) child(one, ` (shared ${String(partOf(one['flags'])['id'])})`);
		const inner = (one: unknown): SecretPlace => child(one, '');
		place.options = [...list(part['matches']), ...list(part['whens'])].flatMap((match) => optionsOf(match, inner));
		if (part['type'] === 'link') this.#link(part, place, { path, chain: around });
		return place;
	}

	#link(part: Part, place: Mutable, { path, chain }: SchemaPosition): void {
		this.#links.push(() => {
			const target = targetOf(part, chain);
			const found = target && this.#places.get(target);
			if (!found) return path;
			place.options = [...place.options, { when: ALWAYS, place: found.place }];
			return null;
		});
	}

	/** Makes conditions undecided whose field may be changed by the schema before they see it; with preferences, values may be converted. */
	#doubt(): void {
		const parts = [...this.#places.keys()];
		const isConverting = parts.some(({ preferences }) => preferences !== undefined);
		const isAll = isConverting || parts.some(({ renames }) => renames !== undefined);
		if (isConverting) for (const { place } of this.#places.values()) place.literals = null;
		const isDoubtful = ({ ref }: Condition): boolean => isAll || ref?.path.some((step) => this.#unsteady.has(step)) === true;
		for (const { place } of this.#places.values())
			place.options = place.options.map(({ when, place: option }) => ({
				when: when && isDoubtful(when) ? { ...when, is: null } : when,
				place: option,
			}));
	}

	/** Carries marks up to what holds them, until nothing changes: links make circles. @returns whether there is any mark */
	#settle(): boolean {
		const places = [...this.#places.values()].map(({ place }) => place);
		for (let hasChanged = true; hasChanged; ) {
			hasChanged = false;
			for (const place of [...places, ...places.flatMap(({ item }) => item ?? [])] as Mutable[]) {
				const below = childrenOf(place);
				const hasSecret = place.hasSecret || below.some((one) => one.hasSecret);
				const hasDestination = place.hasDestination || below.some((one) => one.hasDestination);
				hasChanged ||= hasSecret !== place.hasSecret || hasDestination !== place.hasDestination;
				Object.assign(place, { hasSecret, hasDestination });
			}
		}
		return places.some((place) => place.hasSecret || place.hasDestination);
	}

	/** Refuses marks in parts of the description that describe no value of a config: conditions, rules, names of members. */
	#refuseStray(value: unknown, path: string): void {
		if (value === null || typeof value !== 'object' || value instanceof RegExp) return;
		const part = value as Part;
		if (isMarked(part) && !this.#places.has(part)) {
			throw fault(path, 'a mark is on a schema that no value of the config has (a name, a condition or a rule); mark the field itself');
		}
		const known = this.#places.get(part)?.path;
		for (const [name, child] of Object.entries(part)) {
			if (name !== 'metas' && name !== 'examples') this.#refuseStray(child, known ?? path);
		}
	}
}

const ALWAYS: Condition = { ref: null, is: null, isMet: true };

function blank(part: Part, path: string): Mutable {
	const flags = partOf(part['flags']);
	const allowed = (part['allow'] as Json[] | undefined)?.filter((one) => !isOverride(one)) ?? [];
	const { secret, secretMembers, destination } = marksOf(part, path);
	const isChanged = CHANGING.some((flag) => Object.hasOwn(flags, flag));
	const isKnown = !isChanged && flags['insensitive'] !== true && !allowed.some((one) => one !== null && typeof one === 'object');
	return {
		...emptyPlace(String(part['type'])),
		...{ literals: isKnown ? allowed : null, isOnly: flags['only'] === true },
		...{ isRequired: flags['presence'] === 'required', isSingle: flags['single'] === true },
		...{ isSecret: secret === true, isDestination: destination === true },
		secretMembers: (secretMembers as SecretMembers | undefined) ?? null,
		renames: list(part['renames']).map(({ from, to }) => ({ from: typeof from === 'string' ? from : matcherOf(from), to: String(to) })),
		...{ hasSecret: secret === true || secretMembers !== undefined, hasDestination: destination === true },
	};
}

/** Reads the marks of a schema. @throws Error for a mark that means nothing there */
function marksOf(part: Part, path: string): Marks {
	const metas = ((part['metas'] ?? []) as unknown[]).filter((meta): meta is Part => meta !== null && typeof meta === 'object');
	const flags = partOf(part['flags']);
	const type = String(part['type']);
	for (const { secret, destination, secretMembers } of metas as Marks[]) {
		if (!isFlag(secret)) throw fault(path, 'secret must be true or false');
		if (!isFlag(destination)) throw fault(path, 'destination must be true or false');
		if (secretMembers !== undefined && typeof secretMembers !== 'function')
			throw fault(path, 'secretMembers must be a function of name and value');
		if (secretMembers !== undefined && type !== 'object') throw fault(path, `secretMembers is for objects, not for the type ${type}`);
		if (destination === true && type !== 'string') throw fault(path, `only a string can be a destination, not the type ${type}`);
	}
	// A further mark takes none back: `concat` and `when` only add to them.
	const isSecret = metas.some(({ secret }) => secret === true);
	const isNever = NEVER_STORED.includes(type) || (flags['presence'] === 'forbidden' && !part['whens']);
	if (isSecret && isNever) throw fault(path, 'a secret must be a value that can be given and is JSON');
	return {
		secret: isSecret,
		destination: metas.some(({ destination }) => destination === true),
		secretMembers: (metas as Marks[]).findLast(({ secretMembers }) => secretMembers !== undefined)?.secretMembers,
	};
}

const isFlag = (value: unknown): boolean => value === undefined || typeof value === 'boolean';

const isMarked = ({ type, metas }: Part): boolean =>
	typeof type === 'string' &&
	Array.isArray(metas) &&
	metas.some((meta) => meta !== null && typeof meta === 'object' && MARKS.some((mark) => (meta as Marks)[mark]));

/** Whether a schema may change the value that it is given. */
function isUnsteady({ type, flags, rules, whens }: Part): boolean {
	const isChosen = type === 'alternatives' || type === 'link' || whens !== undefined;
	const isChanged = CHANGING.some((flag) => Object.hasOwn(partOf(flags), flag));
	return isChosen || isChanged || list(rules).some(({ name }) => name === 'custom');
}

/** Refuses a destination inside a secret, where it cannot be compared. */
function refuseInner(place: SecretPlace, path: string): void {
	if (place.isSecret && childrenOf(place).some((one) => one.hasDestination && !one.isSecret))
		throw fault(path, 'a destination must not lie inside a secret');
}

/** Refuses defaults that hold a secret: they would be public with the plugin's code. */
function refuseDefaults(part: Part, place: SecretPlace, path: string): void {
	const flags = partOf(part['flags']);
	for (const name of ['default', 'failover']) {
		const value = flags[name] as Json | undefined;
		if (value === undefined || !place.hasSecret || isSpecial(value)) continue;
		const isFault = typeof value === 'function' ? place.isSecret : someSecret(place, value, (secret) => !isBlank(secret));
		if (isFault) throw fault(path, `a secret must not have a ${name}, which would be public with the plugin’s code`);
	}
}

/** Whether a default is one of Joi's own forms: `{ special: 'deep' }`, or a reference. */
const isSpecial = (value: unknown): boolean => ['special', 'ref'].some((name) => Object.hasOwn(partOf(value), name));

const isOverride = (value: unknown): boolean => partOf(value)['override'] === true;

function childrenOf({ keys, patterns, item, ordered, options }: SecretPlace): SecretPlace[] {
	const members = [...keys.values(), ...patterns.map(({ place }) => place)];
	return [...members, ...(item ? [item] : []), ...ordered, ...options.map(({ place }) => place)];
}

/** One place for items of several schemas: any of them may be the one of an item, as with alternatives. */
function eitherOf(places: readonly SecretPlace[]): SecretPlace | null {
	const [first = null, ...more] = places;
	if (more.length === 0) return first;
	return { ...emptyPlace('alternatives'), options: places.map((place) => ({ when: null, place })) };
}

/** The options of one alternative or condition. */
function optionsOf(match: Part, inner: (part: unknown) => SecretPlace): Option[] {
	if (match['schema'] !== undefined) return [{ when: null, place: inner(match['schema']) }];
	const ref = refOf(match['ref']);
	const tests = match['switch'] === undefined ? [match] : list(match['switch']);
	return tests.flatMap((test) => {
		const is = ref === undefined ? null : literalsOf(partOf(test['is']));
		const isMet = { ref: ref ?? null, is, isMet: true };
		// A later case of a switch is not told by this one alone.
		const isNot = { ref: ref ?? null, is: tests.length > 1 ? null : is, isMet: false };
		return [
			...(test['then'] === undefined ? [] : [{ when: isMet, place: inner(test['then']) }]),
			...(test['otherwise'] === undefined ? [] : [{ when: isNot, place: inner(test['otherwise']) }]),
		];
	});
}

/** Reads a reference by its path alone; undefined for the value itself and for what is read in any other way. */
function refOf(match: unknown): Condition['ref'] | undefined {
	const { path, ancestor = 1, ...more } = partOf(partOf(match)['ref'] ?? match);
	if (!Array.isArray(path) || Object.keys(more).length > 0 || (typeof ancestor !== 'number' && ancestor !== 'root')) return undefined;
	return { path: path as string[], ancestor };
}

function literalsOf(is: Part): Condition['is'] {
	const { type, flags = {}, allow, ...more } = is;
	const { only, presence, ...others } = partOf(flags);
	if (Object.keys(more).length > 0 || Object.keys(others).length > 0) return null;
	if (only !== true) return type === 'any' && presence === 'required' && allow === undefined ? 'any' : null;
	const literals = ((allow ?? []) as Json[]).filter((one) => !isOverride(one));
	return literals.some((one) => one !== null && typeof one === 'object') ? null : literals;
}

/** The schemas of the rule `has`: an item that matches is one of them. */
const hasRules = (part: Part): Part[] =>
	list(part['rules']).flatMap(({ name, args }) => (name === 'has' && part['type'] === 'array' ? [partOf(args)['schema'] as Part] : []));

/** The schema that a link leads to, as Joi finds it; null when it is elsewhere. */
function targetOf(part: Part, chain: SchemaPosition['chain']): Part | null {
	const { path = [], ancestor, type } = partOf(partOf(part['link'])['ref']) as { path?: string[]; ancestor?: unknown; type?: string };
	if (ancestor === 'root') return reach(chain.at(-1)?.part, path);
	if (typeof ancestor === 'number') return reach(chain[ancestor]?.part, path);
	if (type !== 'local') return null;
	const [id = '', ...rest] = path;
	for (const { part: one, key } of chain) {
		const own = (partOf(one['flags'])['id'] ?? key) === id ? one : undefined;
		const found = own ?? list(one['shared']).find(({ flags }) => partOf(flags)['id'] === id);
		if (found) return reach(found, rest);
	}
	return null;
}

function reach(part: Part | undefined, path: readonly string[]): Part | null {
	const [step, ...rest] = path;
	if (part === undefined || step === undefined) return part ?? null;
	const keys = partOf(part['keys']) as Record<string, Part>;
	return reach(Object.values(keys).find(({ flags }) => partOf(flags)['id'] === step) ?? keys[step], rest);
}

const partOf = (value: unknown): Part => (value !== null && typeof value === 'object' ? (value as Part) : {});

const list = (value: unknown): Part[] => (Array.isArray(value) ? (value as Part[]) : []);

/** Reads a regular expression as Joi describes it; null, which fits every name, for a schema of names. */
function regexpOf(text: unknown): RegExp | null {
	const [, source, flags] = /^\/(.*)\/([a-z]*)$/s.exec(typeof text === 'string' ? text : '') ?? [];
	return source === undefined ? null : new RegExp(source, flags?.replaceAll(/[gy]/g, ''));
}

const matcherOf = (from: unknown): RegExp => regexpOf(partOf(from)['regex']) ?? /(?:)/;

const fault = (path: string, message: string): Error => new Error(`${path}: ${message}.`);
