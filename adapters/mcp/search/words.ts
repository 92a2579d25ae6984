// Words as the search compares them: identifiers are split, endings are cut, and words that say nothing are left out.

/** Words of questions and descriptions that tell no tool from another. `all`, `no` and `not` stay: names of tools have them. */
const EMPTY = new Set(
	(
		'a an and any are as at be been by can could did do does for from had has have he her him his how i if in into is it its let like me my of on ' +
		'one or our please shall she should so some that the their them then there these they this those to up us want was we were what when where ' +
		'which who whom whose why will with would you your s t ve ll re'
	).split(' '),
);

/**
 * Words that people use for each other when they ask for a tool. The first is the usual one in names of tools; each line is a group, and a
 * word may be in several.
 */
const ALIKE = [
	'create add new make insert register open',
	'delete remove destroy erase drop discard',
	'list show enumerate all',
	'get read fetch retrieve show view see look',
	'update edit change modify patch replace alter set',
	'search find query look lookup',
	'cancel stop abort halt kill terminate',
	'run start launch trigger execute begin dispatch',
	'run retry again rerun',
	'download fetch export',
	'upload import attach',
	'send submit post deliver',
	'image picture photo',
	'user person people account',
	'user member',
	'organization company org',
	'repository repo codebase',
	'document doc documentation page',
	'configuration config setting settings preference',
	'environment env',
	'password secret credential',
	'token key',
	'login signin logon authenticate',
	'logout signout logoff',
	'mail email',
	'message chat',
	'phone telephone mobile',
	'ticket issue bug',
	'comment reply note',
	'folder directory',
	'file document',
	'buy order purchase',
	'bill invoice',
	'pay payment charge',
	'price cost',
	'customer client',
	'product item article',
	'stock inventory',
	'deadline due',
	'schedule calendar',
	'meeting appointment',
	'log output console',
	'machine node server host',
	'container pod',
	'task job',
	'kubernetes k8s',
	'pr pull',
	'approve accept confirm',
	'reject decline refuse',
	'assign delegate',
	'follow subscribe',
	'unfollow unsubscribe',
	'notification alert',
	'limit quota',
	'statistic stat metric',
	'version release',
	'publish release',
	'merge combine join',
	'copy duplicate clone fork',
	'share publish',
	'lock freeze',
	'weather forecast',
	'place location',
	'country nation',
];

export const isEmpty = (word: string): boolean => EMPTY.has(word);

/** The characters of a word that count: nobody types longer ones. */
const MAX_WORD_CHARS = 64;

/** Splits a text into lower-case words: at everything but letters and digits, and where an identifier changes its case. */
export function wordsOf(text: string): string[] {
	const spaced = text.replace(/(\p{Ll}|\d)(\p{Lu})/gu, '$1 $2').replace(/(\p{Lu})(\p{Lu}\p{Ll})/gu, '$1 $2');
	return (spaced.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []).map((word) => word.slice(0, MAX_WORD_CHARS));
}

/** The stems of the words of a text that say something. */
export function stemsOf(text: string): string[] {
	return wordsOf(text).flatMap((word) => (isEmpty(word) ? [] : [stemOf(word)]));
}

/** Cuts the endings of plurals and verbs: a light stemmer, which joins `merge`, `merges`, `merged` and `merging`. */
export function stemOf(word: string): string {
	let stem = singularOf(word);
	const [ending] = /(?:ing|ed)$/.exec(stem) ?? [];
	if (ending !== undefined && stem.length - ending.length >= 3 && /[aeiouy]/.test(stem.slice(0, -ending.length))) {
		stem = stem.slice(0, -ending.length);
		if (/([bdgklmnprt])\1$/.test(stem)) stem = stem.slice(0, -1);
	}
	return stem.length > 3 && stem.endsWith('e') ? stem.slice(0, -1) : stem;
}

function singularOf(word: string): string {
	if (word.length < 4 || !word.endsWith('s') || /(?:ss|us|is)$/.test(word)) return word;
	if (word.endsWith('ies') && word.length > 4) return `${word.slice(0, -3)}y`;
	return /(?:ch|sh|x|ss)es$/.test(word) ? word.slice(0, -2) : word.slice(0, -1);
}

/** The stems that people use for a stem. */
const alike = new Map<string, Set<string>>();
for (const line of ALIKE) {
	const stems = line.split(' ').map(stemOf);
	for (const stem of stems) alike.set(stem, new Set([...(alike.get(stem) ?? []), ...stems.filter((other) => other !== stem)]));
}

export const alikeTo = (stem: string): Iterable<string> => alike.get(stem) ?? [];
