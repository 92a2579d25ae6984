// Of autocannon 9, which ships no types, what the benchmark uses.

declare module 'autocannon' {
	interface Options {
		url: string;
		method: 'GET' | 'POST';
		headers?: Record<string, string>;
		body?: string;
		/** Every answer is compared with it; the others count as `mismatches`. */
		expectBody?: string;
		connections: number;
		/** Seconds. */
		duration: number;
	}
	interface Result {
		requests: { average: number; total: number };
		/** Milliseconds. */
		latency: { p50: number; p99: number };
		non2xx: number;
		/** Timeouts included. */
		errors: number;
		mismatches: number;
	}
	export default function autocannon(options: Options): Promise<Result>;
}
