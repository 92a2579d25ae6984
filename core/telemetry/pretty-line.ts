// A line of the log for people: time, level, text, and the fields behind it.

const COLORS: Readonly<Record<string, number>> = { trace: 90, debug: 90, info: 32, warn: 33, error: 31, fatal: 31 };

/** @param line of JSON, as the log writes it */
export function prettyLine(line: string): string {
	// Our own log wrote it.
	const { level, time, msg = '', err, ...fields } = JSON.parse(line) as Record<string, unknown>;
	const name = String(level);
	const clock = String(time).slice(11, 23);
	const rest = Object.entries(fields).map(([key, value]) => `${key}=${shown(value)}`);
	const { stack } = (err ?? {}) as { stack?: unknown };
	const trace = typeof stack === 'string' ? `\n  ${stack.replaceAll('\n', '\n  ')}` : '';
	const colored = `\u001b[${COLORS[name] ?? 0}m${name.toUpperCase().padEnd(5)}\u001b[0m`;
	return `${[clock, colored, msg, ...rest].join(' ')}${trace}\n`;
}

const shown = (value: unknown): string => (typeof value === 'string' && /^[\w.:/@+-]+$/.test(value) ? value : JSON.stringify(value));
