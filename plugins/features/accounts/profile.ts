// Shows users their own profile and changes it.

import type { Request, ServerRoute } from '@hapi/hapi';
import Joi from 'joi';
import {
	body,
	type Core,
	displayName,
	invalid,
	notFound,
	operation,
	type PersonRow,
	present,
	ROLES,
	shape,
	storeOf,
	text,
	userIdOf,
	uuid,
} from '../../../core/features.ts';

const MAX_NAME = 100;

/** The specification defines `name`; the two other fields avoid guessing where the first name ends. */
const CHANGE_PROFILE = body({
	name: displayName.description('Both names in one: the first word is the first name, the rest the last name.'),
	firstName: displayName.max(MAX_NAME),
	lastName: Joi.string().allow('').max(MAX_NAME),
})
	.or('name', 'firstName', 'lastName')
	.without('name', ['firstName', 'lastName'])
	.messages({
		'object.missing': 'the body must hold name, firstName or lastName',
		'object.without': 'name and {{#peer}} must not be given together',
	})
	.example({ firstName: 'Ada', lastName: 'Lovelace' });

type Change = { name: string } | { firstName?: string; lastName?: string };

const user = { id: uuid, email: Joi.string(), firstName: text, lastName: text };

export const USER = shape(user).meta({ schema: 'User' });

const PROFILE = shape({
	...user,
	organizations: Joi.array()
		.items(shape({ id: uuid, name: Joi.string(), slug: Joi.string(), role: Joi.string().valid(...ROLES) }))
		.description('The organizations of the user, in order of joining.'),
}).meta({ schema: 'Profile' });

export const presentUser = (row: PersonRow) => present(USER, row);

export const getProfile = (core: Core): ServerRoute =>
	operation({
		method: 'GET',
		path: '/auth/profile',
		id: 'getProfile',
		summary: 'Shows the user and the organizations that they belong to.',
		need: 'self',
		answer: PROFILE,
		handler: (request) => show(request, core),
	});

export const updateProfile = (core: Core): ServerRoute =>
	operation({
		method: 'PATCH',
		path: '/auth/profile',
		id: 'updateProfile',
		summary: 'Changes the given names of the user.',
		need: 'account',
		body: CHANGE_PROFILE,
		answer: PROFILE,
		handler: (request) => change(request, core),
	});

async function show(request: Request, core: Core) {
	const found = await core.store.accounts.byId(userIdOf(request));
	if (!found) throw notFound('User');
	const memberships = await core.store.accounts.memberships(found.id);
	const organizations = memberships.map(({ organization: { id, name, slug }, role }) => ({ id, name, slug, role }));
	return { ...presentUser(found), organizations };
}

async function change(request: Request, core: Core) {
	// The body has passed CHANGE_PROFILE.
	const given = request.payload as Change;
	const names = 'name' in given ? split(given.name) : given;
	if (!(await storeOf(request, core).accounts.update(userIdOf(request), names))) throw notFound('User');
	return show(request, core);
}

/** Splits a name into its first word and the rest, which may be empty. */
function split(name: string): { firstName: string; lastName: string } {
	const [firstName = '', ...rest] = name.trim().split(/\s+/);
	const lastName = rest.join(' ');
	if (firstName.length > MAX_NAME || lastName.length > MAX_NAME) {
		throw invalid('/name', `"name" must have at most ${MAX_NAME} characters in its first word, and as many in the rest`);
	}
	return { firstName, lastName };
}
