// The columns in which secrets lie for as long as their rows, and their replacement while the service runs.

import type { Sequelize } from 'sequelize';
import type { ChangeSealed } from '../core/store/credentials.ts';
import { rows } from './rows.ts';

interface Place {
	table: string;
	column: string;
	/** SQL for the row in the location of its secrets. */
	row: string;
	isJson?: boolean;
	organization?: string;
	/** Whether each secret is bound to its field, too. */
	byField?: boolean;
}

/** The text of a credential's identity, as `credentialKey` in core/upstreams writes it. */
const CREDENTIAL_ROW = "api_id || '/' || type || COALESCE('/' || NULLIF(scheme, ''), '')";
/** The text of a record's place, as core/shared/sealed-fields.ts writes it. */
const RECORD_ROW = "COALESCE(gateway_id::text, 'organization') || '/' || plugin || '/' || encode(sha256(convert_to(key, 'UTF8')), 'hex')";

/**
 * The tokens of upstreams are not among them: a credential that changes loses its token, which is fetched again. The proof of the key is the last: without the former key, a service that starts before all is done refuses to.
 */
const PLACES: Place[] = [
	{ table: 'tools', column: 'execution_config', row: 'id::text', isJson: true },
	{ table: 'gateways', column: 'configuration', row: 'id::text', isJson: true },
	{ table: 'gateway_auth', column: 'configuration', row: 'id::text', isJson: true },
	{ table: 'llm_providers', column: 'connection', row: 'id::text', isJson: true },
	{ table: 'records', column: 'value', row: RECORD_ROW, isJson: true, byField: true },
	{ table: 'api_credentials', column: 'secret', row: CREDENTIAL_ROW },
	{ table: 'api_sources', column: 'repetition', row: 'api_id::text' },
	{ table: 'alert_rules', column: 'secret', row: 'id::text' },
	{ table: 'alert_rules', column: 'url', row: 'id::text' },
	{ table: 'agent_webhooks', column: 'secret', row: 'id::text' },
	{ table: 'agent_schedules', column: 'input', row: 'agent_id::text' },
	{ table: 'installation', column: 'value', row: 'name', organization: "''" },
];

const READ = 100;

interface Found {
	at: string;
	organizationId: string;
	row: string;
	value: string;
}

/** Goes over the values that hold an envelope of another key, column by column. A value that changes meanwhile is looked at again. */
export async function changeSealed(sql: Sequelize, keyId: string, change: ChangeSealed): Promise<void> {
	const other = `v[12][.](?!${keyId})[0-9a-f]{8}[.]`;
	for (const place of PLACES) while (!(await changeOf(sql, place, other, change)));
}

/** @returns false where a value had changed when it was to be replaced */
async function changeOf(
	sql: Sequelize,
	{ table, column, row, isJson = false, organization = 'organization_id', byField = false }: Place,
	other: string,
	change: ChangeSealed,
): Promise<boolean> {
	const text = `${column}${isJson ? '::text' : ''}`;
	const read = `SELECT ctid::text AS at, ${organization} AS "organizationId", ${row} AS row, ${text} AS value
		FROM ${table} WHERE ctid > $1::tid AND ${text} ~ $2 ORDER BY ctid LIMIT ${READ}`;
	const write = `UPDATE ${table} SET ${column} = $1${isJson ? '::json' : ''} WHERE ctid = $2::tid AND ${text} = $3 RETURNING 1`;
	let isWhole = true;
	for (let last: string | undefined = '(0,0)'; last !== undefined; ) {
		const found: Found[] = await rows(sql, read, [last, other]);
		for (const { at, organizationId, row: own, value } of found) {
			const { anew, done } = change({ organizationId, table, value, isJson, rowOf: (pointer) => (byField ? own + pointer : own) });
			if (anew === null || (await rows(sql, write, [anew, at, value])).length > 0) done();
			else isWhole = false;
		}
		last = found.length === READ ? found.at(-1)?.at : undefined;
	}
	return isWhole;
}
