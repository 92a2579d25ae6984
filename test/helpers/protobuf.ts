// Counting in .proto texts by other means than a parser.

/** Strings and comments hold slashes, stars and the word too: they go first. */
const NOISE = /"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|\/\*[\s\S]*?\*\/|\/\/[^\n]*/g;

export const countRpcs = (text: string): number => text.replace(NOISE, ' ').match(/\brpc\s+\w+\s*\(/g)?.length ?? 0;
