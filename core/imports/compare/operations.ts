// Changes of an operation from one import to the next, judged for those who call its tool. In doubt, a change is breaking.

import type { Json, JsonSchema } from '../../contract/nouns.ts';
import { isObject } from '../../kit/json.ts';
import type { OperationContent } from '../../store/store.ts';
import { type Steps, spend, TOO_LARGE } from './meaning.ts';
import type { ChangeKind, Finding, SchemaComparison } from './rules.ts';
import { compareSchemas } from './schemas.ts';

export interface OperationDifference {
	/** The gravest kind of all differences; null when the meaning is the same. */
	kind: ChangeKind | null;
	/** One sentence per difference, the gravest first; from more than ten, the last one says how many are left. */
	reasons: string[];
}

const KINDS: ChangeKind[] = ['breaking', 'additive', 'text'];
const MAX_REASONS = 10;
/** The budget per schema, some 15 ms. A larger schema that is not identical to the letter counts as a breaking change. */
const MAX_STEPS = 20_000;
const MAX_CHARS = 256 * 1024;
const MAX_DEPTH = 300;

/**
 * @param pause is awaited between pieces of work of up to 20 ms
 * @param messageTypes members of definitions that describe the messages, as the schemas do (`SchemaImporter.messageTypes`)
 */
export async function compareOperations(
	before: OperationContent,
	after: OperationContent,
	pause: () => Promise<void>,
	messageTypes: readonly string[] = [],
): Promise<OperationDifference> {
	const findings = [...compareTexts(before, after), ...(await compareContracts(before, after, pause, messageTypes))];
	const reasons = [...new Set(KINDS.flatMap((kind) => findings.filter((one) => one.kind === kind).map(({ reason }) => reason)))];
	const kind = KINDS.find((candidate) => findings.some((one) => one.kind === candidate)) ?? null;
	if (reasons.length <= MAX_REASONS) return { kind, reasons };
	return { kind, reasons: [...reasons.slice(0, MAX_REASONS - 1), `And ${reasons.length - MAX_REASONS + 1} more.`] };
}

function compareTexts(before: OperationContent, after: OperationContent): Finding[] {
	const findings: Finding[] = [];
	const text = (reason: string): void => void findings.push({ kind: 'text', reason });
	if ((before.title ?? null) !== (after.title ?? null)) text('The title changed.');
	if (before.description !== after.description) text('The description changed.');
	if (before.operationId !== after.operationId) text('The operationId changed.');
	if (before.tags.toSorted().join('\n') !== after.tags.toSorted().join('\n')) text('The tags changed.');
	if (before.outcome !== after.outcome)
		text(after.outcome === 'degraded' ? 'It is no longer converted completely.' : 'It is now converted completely.');
	else if (before.reasons.join('\n') !== after.reasons.join('\n')) text('It is degraded for other reasons.');
	if (before.deprecated !== after.deprecated)
		findings.push({ kind: 'additive', reason: after.deprecated ? 'It is deprecated now.' : 'It is no longer deprecated.' });
	return findings;
}

async function compareContracts(
	before: OperationContent,
	after: OperationContent,
	pause: () => Promise<void>,
	messageTypes: readonly string[],
): Promise<Finding[]> {
	const findings = comparePlaces(before, after);
	try {
		await pause();
		const { findings: ofArguments, ...moved } = compareArguments(
			before.whole ?? before.parameters,
			after.whole ?? after.parameters,
			newSteps(),
		);
		await pause();
		const ofAnswers = compareAnswers(before, after, newSteps());
		await pause();
		const ofSchemas = [...ofArguments, ...ofAnswers];
		// A change of the schemas changes what says the same in another form, too.
		const isTold = ofSchemas.some(({ kind }) => kind !== 'text');
		const ofDefinitions = compareDefinitions(before, after, { ...moved, told: isTold ? messageTypes : [], steps: newSteps() });
		return [...findings, ...ofSchemas, ...ofDefinitions];
	} catch (error) {
		if (error !== TOO_LARGE) throw error;
		return [...findings, { kind: 'breaking', reason: 'It changed, and is too large to be compared in detail.' }];
	}
}

const newSteps = (): Steps => ({ left: MAX_STEPS, maxDepth: MAX_DEPTH });

function comparePlaces(before: OperationContent, after: OperationContent): Finding[] {
	const findings: Finding[] = [];
	if (before.method !== after.method) findings.push({ kind: 'breaking', reason: 'The method changed.' });
	if (before.path !== after.path) findings.push({ kind: 'breaking', reason: 'The path changed.' });
	return findings;
}

function compareArguments(before: JsonSchema, after: JsonSchema, steps: Steps): SchemaComparison {
	if (isEqual(before, after)) return { findings: [], movedArguments: new Set(), movedMembers: new Set() };
	return compareSchemas(before, after, 'arguments', steps);
}

function compareAnswers(before: OperationContent, after: OperationContent, steps: Steps): Finding[] {
	const [was, is] = [before.outputSchema, after.outputSchema];
	if (was === null && is === null) return [];
	// A schema left out by a limit of ours says nothing about the API's answer.
	if (was === null) return [{ kind: before.answerCut ? 'text' : 'additive', reason: 'The answer has a schema now.' }];
	if (is === null && after.answerCut) return [{ kind: 'text', reason: 'The answer has a schema that is too large to be promised.' }];
	if (is === null) return [{ kind: 'breaking', reason: 'The answer no longer has a schema.' }];
	return isEqual(was, is) ? [] : compareSchemas(was, is, 'answer', steps).findings;
}

/**
 * Compares as text first, since identical texts need no analysis. @throws TOO_LARGE when the texts differ and the analysis would take too
 * long
 */
function isEqual(before: Json, after: Json): boolean {
	const [was, is] = [JSON.stringify(before), JSON.stringify(after)];
	if (was === is) return true;
	if (was.length > MAX_CHARS || is.length > MAX_CHARS) throw TOO_LARGE;
	return false;
}

interface Moved extends Pick<SchemaComparison, 'movedArguments' | 'movedMembers'> {
	/** Members of the definitions whose changes were reported with the schemas. */
	told: readonly string[];
	steps: Steps;
}

/**
 * Compares the importers' own definitions by rules that hold for all of them. Entries of an added or removed argument were reported with
 * the argument.
 */
function compareDefinitions(before: OperationContent, after: OperationContent, moved: Moved): Finding[] {
	const findings: Finding[] = [];
	for (const name of new Set([...Object.keys(before.definition), ...Object.keys(after.definition)])) {
		// These two were reported above.
		if ((name === 'method' && before.method !== after.method) || (name === 'path' && before.path !== after.path)) continue;
		if (moved.told.includes(name)) continue;
		const [was, is] = [before.definition[name], after.definition[name]];
		const difference = name === 'security' ? compareSecurity(was, is) : compareValues(was, is, moved, 0);
		if (difference === 'grown') findings.push({ kind: 'additive', reason: `The call was extended (${name}).` });
		if (difference === 'other') findings.push({ kind: 'breaking', reason: `The way it is called changed (${name}).` });
	}
	return findings;
}

type Difference = 'none' | 'grown' | 'other';

/**
 * Compares alternatives of credentials (`OutboundRequest.security`): an additional one takes nothing from callers who use another. Former
 * releases stored only their types, and then only these are compared.
 */
function compareSecurity(before: Json | undefined, after: Json | undefined): Difference {
	const isByType = [before, after].some((list) => Array.isArray(list) && list.flat().some((need) => typeof need === 'string'));
	const spellOne = (need: Json): string => {
		if (!isObject(need)) return String(need);
		const { scheme, type, in: place, name } = need;
		return isByType ? String(type) : JSON.stringify([scheme, type, place, name]);
	};
	const spell = (list: Json | undefined): Set<string> | null =>
		Array.isArray(list)
			? new Set(list.map((needs) => JSON.stringify(Array.isArray(needs) ? [...new Set(needs.map(spellOne))].toSorted() : needs)))
			: null;
	const [was, is] = [spell(before), spell(after)];
	if (!was || !is) return was === is ? 'none' : 'other';
	if ([...was].some((types) => !is.has(types))) return 'other';
	return was.size < is.size ? 'grown' : 'none';
}

function compareValues(before: Json | undefined, after: Json | undefined, moved: Moved, depth: number): Difference {
	spend(moved.steps);
	if (depth > MAX_DEPTH) throw TOO_LARGE;
	const [was, is] = [staying(before, moved), staying(after, moved)];
	if (was === is) return 'none';
	if (typeof was === 'string' && typeof is === 'string') return compareQueries(was, is, moved.steps);
	if (Array.isArray(was) && Array.isArray(is)) return compareEntries(was, is, moved, depth);
	if (!isObject(was) || !isObject(is)) return 'other';
	const names = [...new Set([...Object.keys(was), ...Object.keys(is)])];
	const isTold = (name: string): boolean => moved.movedMembers.has(name) && Object.hasOwn(was, name) !== Object.hasOwn(is, name);
	const compare = (name: string): Difference => {
		const [one, other] = [was[name], is[name]];
		const isAccept = name === ACCEPT && typeof one === 'string' && typeof other === 'string';
		return isAccept ? compareAccepted(one, other) : compareValues(one, other, moved, depth + 1);
	};
	return worst(names.filter((name) => !isTold(name)).map(compare));
}

/** The header that lists the media types of the answers, the preferred one first. */
const ACCEPT = 'accept';

/** Compares lists of media types: one more takes nothing from callers while the preferred one stays. */
function compareAccepted(before: string, after: string): Difference {
	if (before === after) return 'none';
	const [was, is] = [before.split(', '), after.split(', ')];
	return was[0] === is[0] && was.every((type) => is.includes(type)) ? 'grown' : 'other';
}

function compareEntries(before: Json[], after: Json[], moved: Moved, depth: number): Difference {
	if (before.length !== after.length) return 'other';
	return worst(before.map((entry, index) => compareValues(entry, after[index], moved, depth + 1)));
}

const worst = (differences: Difference[]): Difference =>
	differences.includes('other') ? 'other' : differences.includes('grown') ? 'grown' : 'none';

/** Returns the name of the argument that an importer's entry is about. */
const argOf = (value: Json | undefined): string | null => (isObject(value) && typeof value['arg'] === 'string' ? value['arg'] : null);

function isMoved(value: Json | undefined, { movedArguments }: Moved): boolean {
	const arg = argOf(value);
	return arg !== null && movedArguments.has(arg);
}

/** Returns the definition without the entries that were already reported; undefined when nothing is left of it. */
function staying(value: Json | undefined, moved: Moved): Json | undefined {
	if (!Array.isArray(value)) return isMoved(value, moved) ? undefined : value;
	const entries = value.filter((entry) => !isMoved(entry, moved));
	if (entries.length === 0 && value.length > 0) return undefined;
	// Entries of arguments are compared by name, since their order has no meaning.
	if (!entries.every((entry) => argOf(entry) !== null)) return entries;
	return entries.toSorted((one, other) => ((argOf(one) ?? '') < (argOf(other) ?? '') ? -1 : 1));
}

/**
 * Compares the text of a query: `grown` when everything that it had is still there, in order. Nullability is reported with the arguments.
 */
function compareQueries(before: string, after: string, steps: Steps): Difference {
	if (!/\s/.test(before) || !/\s/.test(after)) return 'other';
	const words = (text: string): string[] => text.match(/\w+|[^\s\w!]/g) ?? [];
	const [wanted, present] = [words(before), words(after)];
	spend(steps, Math.ceil(present.length / 10));
	let found = 0;
	for (const word of present) if (word === wanted[found]) found++;
	if (found < wanted.length) return 'other';
	return present.length > wanted.length ? 'grown' : 'none';
}
