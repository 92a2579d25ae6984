// The credentials that a gateway takes, as the runner script reads them from the environment: never a credential itself.

import type { Admission, JsonObject } from '../../../core/index.ts';

/** A way to authenticate: the variables that hold the credential, and where the runner puts it. */
export interface CredentialWay {
	/** The ends of the variables' names, behind the prefix of the skill. */
	variables: readonly string[];
	/** `header` and `cookie` and `query` with a name; `bearer` and `basic` in Authorization. */
	place: 'header' | 'cookie' | 'query' | 'bearer' | 'basic';
	name: string;
	/** Describes it to a reader. */
	text: string;
}

/** Returns the ways in the order of the gateway's methods, each once; null when everyone is admitted. */
export function credentialWays(admission: readonly Admission[]): CredentialWay[] | null {
	if (admission.some(({ scheme }) => scheme === null)) return null;
	const ways = admission.flatMap(({ scheme }): CredentialWay[] => {
		if (!scheme) return [];
		if (scheme.type === 'apiKey') return [{ variables: ['API_KEY'], place: scheme.in, name: scheme.name, text: `an API key` }];
		if (scheme.type === 'http' && scheme.scheme.toLowerCase() === 'basic')
			return [{ variables: ['USERNAME', 'PASSWORD'], place: 'basic', name: 'Authorization', text: 'user name and password' }];
		if (scheme.type === 'mutualTLS') return [];
		return [{ variables: ['TOKEN'], place: 'bearer', name: 'Authorization', text: 'an access token' }];
	});
	return ways.filter((way, at) => ways.findIndex((one) => one.place === way.place && one.name === way.name) === at);
}

export const wayAsJson = ({ variables, place, name }: CredentialWay): JsonObject => ({ variables: [...variables], place, name });
