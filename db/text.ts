// Text that PostgreSQL can hold: anything but NUL and half a surrogate pair. Inside JSON documents both are escaped and welcome.

import { invalid } from '../core/contract/errors.ts';

/** The same fields. @throws validation_failed naming the first whose text cannot be stored */
export function storable<T extends object>(fields: T): T {
	for (const [name, value] of Object.entries(fields)) {
		const isText = typeof value === 'string';
		if (isText && value.includes('\0')) throw invalid(`/${name}`, `${name} must not contain the NUL character (U+0000).`);
		if (isText && !value.isWellFormed()) throw invalid(`/${name}`, `${name} must be well-formed Unicode, without unpaired surrogates.`);
	}
	return fields;
}

/** For other people's text: half a surrogate pair becomes U+FFFD. */
export const text = (value: string): string => value.toWellFormed();

/** For text that nobody will miss a character of: NUL is left out too. */
export const lenient = (value: string): string => text(value).replaceAll('\0', '');
