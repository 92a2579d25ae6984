// The organization at the universal endpoint, for accounts that belong to several (specification 5.1, rule 5).

import { isObject } from '../wire/messages.ts';
import { isUuid } from './address.ts';
import { Refusal } from './refusals.ts';
import { ask } from './requests.ts';

export interface Organization {
	id: string;
	slug: string;
	name: string;
}

const PAGE = 100;
const MOST_PAGES = 20;

/** Lists the organizations of a credential. @throws Refusal */
export async function listOrganizations(serviceUrl: string, token: string, signal: AbortSignal): Promise<Organization[]> {
	const found: Organization[] = [];
	let cursor = '';
	for (let page = 0; page < MOST_PAGES; page += 1) {
		const answer = await ask(serviceUrl, `/organizations?limit=${PAGE}${cursor}`, { token, signal });
		const { data } = answer.body;
		if (answer.status !== 200 || !isObject(data) || !Array.isArray(data['organizations'])) throw answer.refusal();
		for (const one of data['organizations']) if (isOrganization(one)) found.push({ id: one.id, slug: one.slug, name: one.name });
		if (typeof data['nextCursor'] !== 'string') break;
		cursor = `&cursor=${encodeURIComponent(data['nextCursor'])}`;
	}
	return found;
}

const isOrganization = (one: unknown): one is Organization & Record<string, never> =>
	isObject(one) && ['id', 'slug', 'name'].every((field) => typeof one[field] === 'string');

/**
 * Finds the id of the organization that SVC_ORGANIZATION names by id or slug, once; null where it names none. After a failure the next request
 * looks again.
 */
export function namedOrganization({ organization: named, serviceUrl, token }: Naming, patienceMs: number): () => Promise<string | null> {
	const find = async (): Promise<string | null> => {
		if (named === null || isUuid(named)) return named?.toLowerCase() ?? null;
		const all = await listOrganizations(serviceUrl, token(), AbortSignal.timeout(patienceMs));
		const found = all.find(({ slug }) => slug === named);
		if (found) return found.id;
		throw new Refusal('missing', `SVC_ORGANIZATION is "${named.slice(0, 100)}", which is none of your organizations. ${namesOf(all)}`);
	};
	let finding: Promise<string | null> | null = null;
	return () => {
		finding ??= find().catch((error: unknown) => {
			finding = null;
			throw error;
		});
		return finding;
	};
}

interface Naming {
	organization: string | null;
	serviceUrl: string;
	token(): string;
}

export const namesOf = (all: readonly Organization[]): string =>
	all.length === 0
		? 'The credential belongs to none.'
		: `Set SVC_ORGANIZATION to one of: ${all.map(({ slug, name }) => `${slug} (${name})`).join(', ')}.`;
