// The only list of what the audit log records, table by table. A new field is a line here, with the number of the first migration that logs
// it; that migration rebuilds the table's triggers, and those that former ones built from the list stay as they were.

import { type Audited, auditTriggers, EVENTS, type Field, facts, keys, times, values } from './audit-triggers.ts';

interface DatedField {
	field: Field;
	since: number;
}

interface Dated extends Omit<Audited, 'fields'> {
	fields: (Field | DatedField)[];
	/** The migration that created the table, when it is later than the log's own. */
	since?: number;
	/** The values before that migration. */
	formerly?: Partial<Audited> & { until: number };
}

/** Marks fields with the migration that first logs them, when it is later than the log's own. */
const since = (migration: number, fields: Field[]): DatedField[] => fields.map((field) => ({ field, since: migration }));

/** Operations are not listed, since they belong to their schema; neither are users and logins, which belong to no organization. */
const HISTORY: Dated[] = [
	{
		table: 'organizations',
		type: 'organization',
		fields: [...values('name slug'), ...since(9, values('code_may_fetch')), ...since(25, values('tool_exposure'))],
		organizations: 'ARRAY[id]',
	},
	{
		table: 'memberships',
		type: 'member',
		fields: values('role'),
		id: 'user_id',
		name: '(SELECT u.email FROM users u WHERE u.id = source.user_id)',
		match: 'ARRAY[organization_id, user_id]',
	},
	{
		table: 'invitations',
		type: 'invitation',
		fields: [...values('email role'), ...times('expires_at accepted_at revoked_at')],
		name: 'email',
	},
	{
		table: 'access_keys',
		type: 'access_key',
		fields: [...values('name permissions gateway_id'), ...since(24, values('agent_id')), ...times('revoked_at')],
		// A key for the whole account reaches every organization of its owner.
		organizations: `CASE WHEN organization_id IS NOT NULL THEN ARRAY[organization_id]
			ELSE ARRAY(SELECT m.organization_id FROM memberships m WHERE m.user_id = source.user_id) END`,
	},
	{
		table: 'apis',
		type: 'api',
		fields: [
			...values('name type base_url'),
			['description', 'text', 'description'],
			...values('status'),
			...since(4, [['outbound', 'value', 'readable(outbound)']]),
			...since(13, [['passThrough', 'value', 'readable(pass_through)']]),
			...since(21, [...values('strict_output'), ['icon', 'text', 'icon']]),
			...since(31, values('watch')),
		],
	},
	{
		since: 31,
		table: 'alert_rules',
		type: 'alert_rule',
		// The address may hold a token.
		fields: [...values('name kind tool_id api_id bound window_minutes min_calls status'), ...facts('url secret')],
	},
	{
		table: 'api_credentials',
		type: 'credential',
		fields: [...values('type'), ...since(11, [['scheme', 'value', `nullif(scheme, '')`]]), ...values('origin'), ...facts('secret')],
		id: 'api_id',
		name: `concat_ws(' ', type, nullif(scheme, ''))`,
		match: 'ARRAY[api_id::text, type, scheme]',
		formerly: { until: 11, name: 'type', match: 'ARRAY[api_id::text, type]' },
	},
	{
		table: 'api_schemas',
		type: 'schema',
		// The query of an address may hold a token.
		fields: [...values('api_id format title version sha256'), ['sourceUrl', 'value', `regexp_replace(source_url, '[?#].*', '')`]],
		name: 'title',
	},
	{
		table: 'tools',
		type: 'tool',
		fields: [
			['name', 'value', 'coalesce(own_name, imported_name)'],
			['description', 'text', 'coalesce(own_description, imported_description)'],
			...values('type api_id'),
			['status', 'value', `CASE WHEN removed THEN 'removed' ELSE status END`],
			...facts('parameters output_schema annotations code'),
			...keys('execution_config'),
		],
		name: 'coalesce(own_name, imported_name)',
	},
	{
		table: 'gateways',
		type: 'gateway',
		fields: [
			...values('name type endpoint'),
			['description', 'text', 'description'],
			...values('status'),
			...keys('configuration'),
			...since(21, [...values('max_result_bytes'), ['icon', 'text', 'icon']]),
			...since(30, [['payloadLog', 'value', 'readable(payload_log)']]),
		],
	},
	{
		table: 'gateway_tools',
		type: 'gateway_tool',
		fields: [
			...values('gateway_id tool_id name'),
			...since(4, [['description', 'text', 'description']]),
			...values('rate_limit'),
			...since(21, values('max_result_bytes confirm')),
		],
	},
	{
		table: 'gateway_auth',
		type: 'auth_method',
		fields: [
			...values('gateway_id type is_required'),
			['validationRules', 'value', 'readable(validation_rules)'],
			...keys('configuration'),
		],
		name: 'type',
	},
	{
		table: 'gateway_keys',
		type: 'api_key',
		fields: [...values('gateway_id name scopes'), ...times('expires_at revoked_at')],
	},
	{
		since: 20,
		table: 'skills',
		type: 'skill',
		fields: [
			...values('name'),
			['description', 'text', 'description'],
			...keys('frontmatter'),
			['files', 'keys', "(SELECT json_object_agg(f ->> 'path', f ->> 'digest')::jsonb FROM json_array_elements(files) f)"],
			...facts('arguments'),
		],
	},
	{
		since: 20,
		table: 'gateway_skills',
		type: 'gateway_skill',
		fields: values('gateway_id skill_id'),
		name: '(SELECT s.name FROM skills s WHERE s.id = source.skill_id)',
	},
	{
		since: 22,
		table: 'llm_providers',
		type: 'llm_provider',
		fields: [
			...values('name provider model status'),
			...keys('configuration'),
			...keys('connection'),
			['prices', 'value', 'readable(prices)'],
			['budget', 'value', 'readable(budget)'],
			['outbound', 'value', 'readable(outbound)'],
		],
	},
	{
		since: 24,
		table: 'agents',
		type: 'agent',
		fields: [
			...values('name'),
			['description', 'text', 'description'],
			...values('status'),
			...keys('pipeline'),
			['settings', 'value', 'readable(settings)'],
		],
	},
	{
		since: 24,
		table: 'agent_webhooks',
		type: 'agent_webhook',
		fields: [...values('name scheme status'), ...facts('secret')],
		id: 'agent_id',
	},
	{
		since: 24,
		table: 'agent_questions',
		type: 'agent_approval',
		// Runs ask; people answer.
		events: ['update'],
		fields: [...values('run_id node_id answered_by'), ...times('answered_at')],
		id: 'agent_id',
		name: 'node_id',
	},
	{
		since: 27,
		table: 'agent_versions',
		type: 'agent_version',
		// They leave with their agent, or because they are the oldest.
		events: ['insert', 'update'],
		fields: [...values('version_index'), ['changelog', 'text', 'changelog'], ...values('restored_from')],
		id: 'agent_id',
		name: 'name',
		match: 'ARRAY[agent_id::text, version_index::text]',
	},
	{
		since: 27,
		table: 'agent_schedules',
		type: 'agent_schedule',
		fields: [...values('cron time_zone overlap missed'), ...facts('input')],
		id: 'agent_id',
		name: 'cron',
		match: 'agent_id',
	},
	{
		since: 8,
		table: 'import_jobs',
		type: 'import',
		// The work of a job is logged with the schema that it wrote; only its cancellation is left to log.
		events: ['update'],
		fields: [['status', 'value', `CASE WHEN status = 'cancelled' THEN status ELSE 'begun' END`]],
		name: '(SELECT a.name FROM apis a WHERE a.id = source.api_id)',
	},
];

/** Returns the list as of a migration; without one, the current list. */
export const auditedIn = (migration: number = Number.POSITIVE_INFINITY): Audited[] =>
	HISTORY.filter(({ since: made = 0 }) => made <= migration).map(({ fields, formerly, since: _made, ...audited }) => {
		const { until, ...former } = formerly ?? { until: 0 };
		return { ...audited, ...(migration < until && former), fields: fields.flatMap((field) => toldIn(migration, field)) };
	});

function toldIn(migration: number, dated: Field | DatedField): Field[] {
	if (Array.isArray(dated)) return [dated];
	return dated.since <= migration ? [dated.field] : [];
}

/** Builds the triggers of a table, as the list has it in this migration. */
export const tell = (migration: number, table: string): string[] =>
	auditedIn(migration)
		.filter((audited) => audited.table === table)
		.flatMap(auditTriggers);

/** Replaces the triggers of a former migration. */
export const retell = (migration: number, table: string): string[] => [
	...EVENTS.map((event) => `DROP TRIGGER audit_${event} ON ${table};`),
	...tell(migration, table),
];
