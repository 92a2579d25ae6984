// Types of autocannon 9, which ships none, as far as the benchmark uses them.

declare module 'autocannon' {
	interface Options {
		url: string;
		method: 'GET' | 'POST';
		headers?: Record<string, string>;
		body?: string;
		/** The expected body: other responses count as `mismatches`. */
		expectBody?: string;
		/** Judges a body instead: responses that it refuses count as `mismatches`. */
		verifyBody?(body: string): boolean;
		/** Replaces `[<id>]` in the body by a text that no other request has. */
		idReplacement?: boolean;
		connections: number;
		/** The duration in seconds. */
		duration: number;
	}
	interface Result {
		requests: { average: number; total: number };
		/** Latencies in milliseconds. */
		latency: { p50: number; p99: number };
		non2xx: number;
		/** The number of errors, timeouts included. */
		errors: number;
		mismatches: number;
	}
	export default function autocannon(options: Options): Promise<Result>;
}
