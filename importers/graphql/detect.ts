// Estimates how likely a document is GraphQL.

const JSON_MARK = /"__schema"\s*:\s*\{/;
const SDL_MARK = /^[ \t]*(?:extend[ \t]+)?(?:schema\s*[@{]|type\s+\w+\s*(?:@|\{|implements\b)|input\s+\w+\s*[@{])/m;
const SDL_HINT = /^[ \t]*(?:interface\s+\w+\s*[@{]|union\s+\w+\s*[@=]|enum\s+\w+\s*[@{]|scalar\s+\w+|directive\s+@\w+)/m;

/** @returns 0 to 1; below certainty without an object type, since Proto and other languages have enums and interfaces too */
export function detect(source: string): number {
	if (/^\s*\{/.test(source)) return JSON_MARK.test(source) ? 1 : 0;
	if (SDL_MARK.test(source)) return 1;
	return SDL_HINT.test(source) ? 0.3 : 0;
}
