// Shows names that untrusted parties chose, so that they cannot cover or reverse the text around them.

import { cleanText, type Gateway } from '../../../../core/index.ts';
import { type Html, html } from './html.ts';

/** The most characters of a name inside a sentence. */
const MOST_IN_SENTENCE = 60;
/** Combining marks beyond four on one letter. No script stacks more; a stack of them would cover the lines around it. */
const HEAP = /(\p{M}{4})\p{M}+/gu;
/** Characters that look like the end of a quotation: a name could use them to continue as if the page said so. */
const QUOTATION_MARKS = /["“”„‟«»″‶〝〞〟＂❝❞ʺˮ]/g;

/** Cleans a name; empty when nothing of it is visible. */
const shown = (name: string, most: number): string => {
	// Hidden characters go first, since they may stand between marks.
	const clean = cleanText(name.replace(/\s+/g, ' '), name.length);
	return cleanText(clean.replace(HEAP, '$1'), most);
};

/** Shows a client's name on a line of its own. */
export const shownInFull = (name: string): string => unquotable(shown(name, name.length));

/** Shows a client's name inside a sentence, or `otherwise` when nothing of the name is visible. */
export function clientIn(name: string, otherwise: string): Html {
	const text = shown(name, MOST_IN_SENTENCE);
	return text === '' ? html`${otherwise}` : quoted(text);
}

/**
 * Names the gateway, as in: “Main” of Acme. A name that shows nothing is replaced by its part of the gateway's address.
 * @param gateway null at an address over all organizations
 */
export function gatewayIn(gateway: Readonly<Gateway> | null): Html {
	if (!gateway) return html`all gateways of your organization`;
	const { name, endpoint, organizationName, organizationSlug } = gateway;
	const organization = organizationIn({ organizationName, organizationSlug });
	return html`${quoted(shown(name, MOST_IN_SENTENCE) || endpoint.slice(1))} of ${organization}`;
}

export const organizationIn = ({ organizationName, organizationSlug }: Pick<Gateway, 'organizationName' | 'organizationSlug'>): Html =>
	html`<bdi>${shown(organizationName, MOST_IN_SENTENCE) || organizationSlug}</bdi>`;

const quoted = (text: string): Html => html`“<bdi>${unquotable(text)}</bdi>”`;

const unquotable = (text: string): string => text.replace(QUOTATION_MARKS, '’');
