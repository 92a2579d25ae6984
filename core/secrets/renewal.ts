// Secrets that a former key sealed, sealed anew with the present one, for the command `rotate-key`.

import { asGatewayError } from '../contract/errors.ts';
import type { Json } from '../contract/nouns.ts';
import { isObject } from '../kit/json.ts';
import { escapeToken } from '../kit/json-pointer.ts';
import type { SealedValue } from '../store/credentials.ts';
import type { Secrets } from './envelopes.ts';

/** The secrets of a value, after what was done. */
export interface Renewed {
	/** The value with the secrets that could be opened sealed anew; null where there are none. */
	value: string | null;
	renewed: number;
	/** The number of secrets that no key opened, which stay as they are. */
	unreadable: number;
}

/** Seals anew the secrets of a stored value that the present key has not sealed. */
export function renewedValue(secrets: Secrets, { value, isJson, rowOf, ...location }: SealedValue): Renewed {
	let [renewed, unreadable] = [0, 0];
	const renew = (text: string, pointer: string): string => {
		if (!secrets.isSealed(text) || text.split('.')[1] === secrets.keyId) return text;
		try {
			const anew = secrets.renew(text, { ...location, row: rowOf(pointer) }, 'The secret');
			renewed++;
			return anew;
		} catch (error) {
			if (asGatewayError(error)?.code !== 'secret_unreadable') throw error;
			unreadable++;
			return text;
		}
	};
	const changed = isJson ? JSON.stringify(eachText(JSON.parse(value) as Json, renew)) : renew(value, '');
	return { value: renewed > 0 ? changed : null, renewed, unreadable };
}

/** @param change gets each text, and the JSON pointer to it */
function eachText(value: Json, change: (text: string, pointer: string) => string, pointer = ''): Json {
	if (typeof value === 'string') return change(value, pointer);
	if (Array.isArray(value)) return value.map((each, at) => eachText(each, change, `${pointer}/${at}`));
	if (!isObject(value)) return value;
	return Object.fromEntries(
		Object.entries(value).map(([name, member]) => [name, eachText(member, change, `${pointer}/${escapeToken(name)}`)]),
	);
}
