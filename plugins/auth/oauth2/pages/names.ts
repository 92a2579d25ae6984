// Names that strangers chose, as the pages show them: text that keeps its place and its direction.

import { cleanText, type Gateway } from '../../../../core/index.ts';
import { type Html, html } from './html.ts';

/** The most of a name inside a sentence. */
const MOST_IN_SENTENCE = 60;
/** Marks that are drawn onto the letter before them. No script stacks more of them; a heap would cover the lines around it. */
const HEAP = /(\p{M}{4})\p{M}+/gu;
/** All that looks like the end of a quotation: a name could go on behind it as if we said so. */
const QUOTATION_MARKS = /["“”„‟«»″‶〝〞〟＂❝❞ʺˮ]/g;

/** Empty where nothing of the name can be seen. */
const shown = (name: string, most: number): string => {
	// First all that hides: it may stand between marks.
	const clean = cleanText(name.replace(/\s+/g, ' '), name.length);
	return cleanText(clean.replace(HEAP, '$1'), most);
};

/** A client's name that has a line of its own. */
export const shownInFull = (name: string): string => unquotable(shown(name, name.length));

/** A client's name inside a sentence, or what it is where it gives none. */
export function clientIn(name: string, otherwise: string): Html {
	const text = shown(name, MOST_IN_SENTENCE);
	return text === '' ? html`${otherwise}` : quoted(text);
}

/** “Main” of Acme. The names of which nothing can be seen give way to what is in the gateway's address. */
export function gatewayIn({ name, endpoint, organizationName, organizationSlug }: Gateway): Html {
	const organization = organizationIn({ organizationName, organizationSlug });
	return html`${quoted(shown(name, MOST_IN_SENTENCE) || endpoint.slice(1))} of ${organization}`;
}

export const organizationIn = ({ organizationName, organizationSlug }: Pick<Gateway, 'organizationName' | 'organizationSlug'>): Html =>
	html`<bdi>${shown(organizationName, MOST_IN_SENTENCE) || organizationSlug}</bdi>`;

const quoted = (text: string): Html => html`“<bdi>${unquotable(text)}</bdi>”`;

const unquotable = (text: string): string => text.replace(QUOTATION_MARKS, '’');
