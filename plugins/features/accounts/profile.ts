// A user as they see themselves, and what they may change of it.

import type { Request } from '@hapi/hapi';
import Joi from 'joi';
import { body, type Core, displayName, invalid, notFound, type PersonRow, storeOf, userIdOf } from '../../../core/index.ts';

const MAX_NAME = 100;

export const emailAddress = Joi.string().email({ tlds: false }).max(254);

/** `name` is the specification's; the two others say the same without guessing where one ends. */
export const CHANGE_PROFILE = body({
	name: displayName,
	firstName: displayName.max(MAX_NAME),
	lastName: Joi.string().allow('').max(MAX_NAME),
})
	.or('name', 'firstName', 'lastName')
	.without('name', ['firstName', 'lastName'])
	.messages({
		'object.missing': 'the body must hold name, firstName or lastName',
		'object.without': 'name and {{#peer}} must not be given together',
	});

type Change = { name: string } | { firstName?: string; lastName?: string };

export const presentUser = ({ id, email, firstName, lastName }: PersonRow) => ({ id, email, firstName, lastName });

export async function profile(request: Request, core: Core) {
	const user = await core.store.accounts.byId(userIdOf(request));
	if (!user) throw notFound('User');
	const memberships = await core.store.accounts.memberships(user.id);
	const organizations = memberships.map(({ organization: { id, name, slug }, role }) => ({ id, name, slug, role }));
	return { ...presentUser(user), organizations };
}

export async function changeProfile(request: Request, core: Core) {
	// The route's schema is CHANGE_PROFILE.
	const change = request.payload as Change;
	const names = 'name' in change ? split(change.name) : change;
	if (!(await storeOf(request, core).accounts.update(userIdOf(request), names))) throw notFound('User');
	return profile(request, core);
}

/** The first word and the rest, which may be nothing. */
function split(name: string): { firstName: string; lastName: string } {
	const [firstName = '', ...rest] = name.trim().split(/\s+/);
	const lastName = rest.join(' ');
	if (firstName.length > MAX_NAME || lastName.length > MAX_NAME) {
		throw invalid('/name', `"name" must have at most ${MAX_NAME} characters in its first word, and as many after it`);
	}
	return { firstName, lastName };
}
