// Options of an import: the services and ports to import, and WS-Security if the document has no policy for it.

import Joi from 'joi';
import { invalid, quote } from '../../core/index.ts';
import type { WsSecurity } from './policy.ts';
import type { Port } from './ports.ts';

export interface ImportOptions {
	service?: string;
	port?: string;
	wsSecurity?: 'none' | WsSecurity;
}

const MAX_NAMED = 10;
const name = Joi.string().max(500);

export const config: Joi.ObjectSchema<ImportOptions> = Joi.object<ImportOptions>({
	service: name.description('Import only this service of the document. Default: all services'),
	port: name.description(
		'Import only ports of this name, which is also how to choose SOAP 1.2. Default: all ports over HTTP, SOAP 1.1 before 1.2 if both have an operation',
	),
	wsSecurity: Joi.string()
		.valid('none', 'text', 'digest')
		.description(
			'Whether tools send the stored basic_auth credential as a WS-Security UsernameToken in the message, with the password as text or as a digest of it. Default: as the policies of the document require',
		),
});

/** Returns the ports that the options select. @throws validation_failed naming the ports or services that exist */
export function choosePorts(ports: Port[], { service, port }: ImportOptions): Port[] {
	const ofService = choose(ports, (one) => one.service, { at: '/options/service', what: 'service', wanted: service });
	return choose(ofService, (one) => one.name, { at: '/options/port', what: 'port', wanted: port });
}

interface Wanted {
	at: string;
	what: string;
	wanted: string | undefined;
}

function choose(ports: Port[], nameOf: (port: Port) => string | null, { at, what, wanted }: Wanted): Port[] {
	if (wanted === undefined) return ports;
	const chosen = ports.filter((port) => nameOf(port) === wanted);
	if (chosen.length > 0) return chosen;
	const names = [...new Set(ports.map(nameOf))].filter((known) => known !== null).slice(0, MAX_NAMED);
	throw invalid(at, `No ${what} ${quote(wanted)} speaks SOAP over HTTP: there are ${names.map(quote).join(', ') || 'none'}.`);
}
