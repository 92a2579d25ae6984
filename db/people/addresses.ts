// E-mail addresses in Unicode: one address can be written in several ways (é as one character, or as e with an accent), and belongs to one account.

/** The form in which addresses are stored. RFC 6532 §3.1: "normalization form NFC SHOULD be used". */
export const storedAddress = (address: string): string => address.normalize('NFC');

/** The forms in which an address may be found, the given one first: rows of former versions have the form that was sent. */
export const formsOfAddress = (address: string): string[] => [...new Set([address, address.normalize('NFC'), address.normalize('NFD')])];

/** Builds the condition that a column holds one of the addresses of a parameter, ignoring case. */
export const isAddress = (column: string, parameter: string): string =>
	`lower(${column}) = ANY (ARRAY(SELECT lower(form) FROM unnest(${parameter}::text[]) form))`;
