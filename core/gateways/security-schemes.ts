// Names for the security schemes of published documents.

import type { Admission, SecurityScheme } from '../contract/admission.ts';

/**
 * Names the schemes by which a gateway admits callers, by their methods: `api_key`, then `api_key_2` for another row of the method that expects
 * something else. Methods that do not tell, and those that admit everybody, have none.
 */
export function schemesByName(admission: readonly Admission[]): Map<string, SecurityScheme> {
	const schemes = new Map<string, SecurityScheme>();
	const seen = new Set<string>();
	for (const { method, scheme } of admission) {
		const text = JSON.stringify([method, scheme]);
		if (!scheme || seen.has(text)) continue;
		seen.add(text);
		let name = method;
		for (let row = 2; schemes.has(name); row++) name = `${method}_${row}`;
		schemes.set(name, scheme);
	}
	return schemes;
}
