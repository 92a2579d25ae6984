// Text that PostgreSQL can store: anything but NUL and lone surrogates. Inside JSON documents both are escaped and allowed.

import { invalid } from '../core/contract/errors.ts';

/** Returns the same fields. @throws validation_failed naming the first whose text cannot be stored */
export function storable<T extends object>(fields: T): T {
	for (const [name, value] of Object.entries(fields)) {
		const isText = typeof value === 'string';
		if (isText && value.includes('\0')) throw invalid(`/${name}`, `${name} must not contain the NUL character (U+0000).`);
		if (isText && !value.isWellFormed()) throw invalid(`/${name}`, `${name} must be well-formed Unicode, without unpaired surrogates.`);
	}
	return fields;
}

/** Makes other people's text storable: lone surrogates become U+FFFD. */
export const text = (value: string): string => value.toWellFormed();

/** Makes text storable of which a lost character does not matter: NUL is removed, too. */
export const lenient = (value: string): string => text(value).replaceAll('\0', '');
