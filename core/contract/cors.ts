// Headers that pages in browsers may use at gateways. Types only.

/** The headers of a protocol or method beside those that core allows at every gateway. In the specification of CORS they are not safelisted. */
export interface CorsHeaders {
	/** Headers of requests that a page may set. */
	send?: readonly string[];
	/** Headers of answers that a page may read. */
	read?: readonly string[];
}
