// The places in which a user may allow a client: at a gateway its organization, at an address over all of them each of the user's.

import type { Call, Caller, Context, UserOrganization, Visitor } from '../../../core/index.ts';

export interface Choice {
	/** Null at a gateway. */
	organization: UserOrganization | null;
	caller: Readonly<Caller>;
	/** The call in whose records the consent and the code are kept. */
	context: Context;
}

/** Returns the choices, those of organizations in the order in which the user joined them; none for somebody who is no member. */
export async function choicesOf({ userId, caller }: Visitor, call: Call): Promise<Choice[]> {
	const { organizations } = call;
	if (!organizations) return caller ? [{ organization: null, caller, context: call }] : [];
	const choices: Choice[] = [];
	for (const organization of await organizations.of(userId)) {
		const context = await organizations.at(organization.id);
		if (context) choices.push({ organization, caller: organization.caller, context });
	}
	return choices;
}
