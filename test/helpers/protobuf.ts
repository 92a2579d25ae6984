// Counts in .proto texts without a parser.

/** Strings and comments, which may hold slashes, stars and the keyword: they are removed first. */
const NOISE = /"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|\/\*[\s\S]*?\*\/|\/\/[^\n]*/g;

export const countRpcs = (text: string): number => text.replace(NOISE, ' ').match(/\brpc\s+\w+\s*\(/g)?.length ?? 0;
