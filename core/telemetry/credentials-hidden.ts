// Hides credentials in lines of the log, wherever they stand: in a path, a name, the text of an error.

/**
 * Text in the form of a credential, wherever it stands, as in a path, a name, or the text of an error and of its causes: our own
 * keys, signed tokens, credentials of headers, of addresses and of queries. Lengths are bounded, and a
 * token begins where no other text does, so that the search takes as long as the line.
 */
const CREDENTIALS = new RegExp(
	[
		/(?<prefix>svc_gw_|ak_live_|\bsk-)[\w-]{16,512}/,
		/(?<token>(?<![\w-])eyJ)[\w-]{8,4096}\.[\w-]{1,8192}(?:\.[\w-]{0,4096})?/,
		/(?<scheme>\b(?:Bearer|Basic) )[\w.~+/=-]{16,8192}/,
		/(?<basic>\bBasic )(?<pair>[\w+/-]{2,15}={0,2})/,
		/(?<address>:\/\/)[^\s"/@\\]{1,512}@/,
		/(?<query>[?&](?:api[_-]?key|key|token|access_token|refresh_token|(?:user_|device_)?code|secret|client_secret|password|signature|sig)=)[^\s"&#\\]{1,4096}/,
	]
		.map(({ source }) => source)
		.join('|'),
	'gi',
);
export const HIDDEN = '[secret]';

/** Returns a line without what has the form of a credential. */
export const withoutCredentials = (line: string): string =>
	line.replace(CREDENTIALS, (match, ...found) => {
		// Node gives the named groups last.
		const { prefix, token, scheme, basic, pair = '', address, query } = found.at(-1) as Record<string, string | undefined>;
		// So few characters may be a word of a sentence, but a name and a password have a colon.
		if (basic !== undefined && !Buffer.from(pair, 'base64').includes(':')) return match;
		const kept = prefix ?? scheme ?? basic ?? query ?? address ?? (token === undefined ? '' : 'eyJ');
		return `${kept}${HIDDEN}${address === undefined ? '' : '@'}`;
	});
