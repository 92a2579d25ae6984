// Addresses: of the service, of a gateway in it, and what people write for them.

/** The address of the service where nothing else names one. Whoever hosts the service sets it before publishing this package. */
export const SERVICE_URL = 'http://127.0.0.1:3000';

/** A mistake of the user, told in a sentence; the program ends. */
export class UsageError extends Error {}

export interface GatewayName {
	organization: string;
	gateway: string;
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const NAME = /^@?([a-z0-9][a-z0-9-]*)\/([A-Za-z0-9_-]+)$/;
const LOOPBACK = /^(localhost|127(\.\d+){3}|\[::1\])$/;

export const isUuid = (text: string): boolean => UUID.test(text);

/** Reads `<org_slug>/<gateway_slug>`. @throws UsageError */
export function readGatewayName(text: string): GatewayName {
	const [, organization, gateway] = NAME.exec(text.trim()) ?? [];
	if (organization !== undefined && gateway !== undefined) return { organization, gateway };
	const hint = isUuid(text) ? ' It is not the gateway’s id: the two names are the end of its URL.' : '';
	throw new UsageError(`"${text.slice(0, 100)}" is no gateway: write <organization>/<gateway>, for example acme/tools.${hint}`);
}

/** Reads the address of a service: its origin, with a path if it has one, and no slash at its end. @throws UsageError */
export function readServiceUrl(text: string, source: string): string {
	const url = URL.canParse(text) ? new URL(text) : null;
	if (!url || (url.protocol !== 'https:' && url.protocol !== 'http:'))
		throw new UsageError(`${source} must be an address that begins with https:// or http://.`);
	if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '')
		throw new UsageError(`${source} must be the plain address of the service, without a user, a query or a fragment.`);
	return (url.origin + url.pathname).replace(/\/+$/, '');
}

/** Whether what is sent there can be read on the way. */
export function isOpenlyReadable(serviceUrl: string): boolean {
	const { protocol, hostname } = new URL(serviceUrl);
	return protocol === 'http:' && !LOOPBACK.test(hostname);
}

/** Returns the URL of a gateway; of the universal endpoint where it is null. */
export const gatewayUrl = (serviceUrl: string, name: GatewayName | null): string =>
	name ? `${serviceUrl}/${name.organization}/${name.gateway}` : `${serviceUrl}/mcp`;
