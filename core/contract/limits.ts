// Limits that routes declare for themselves. Types only.

/** So many requests in so many seconds; the window begins with the first of them. */
export interface Window {
	max: number;
	seconds: number;
}
