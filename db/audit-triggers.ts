// Builds the triggers that write the audit log from a table of the logged fields. Triggers of a released migration stay as they are: a
// later migration replaces a table's triggers.

const TEXT_LENGTH = 500;

/**
 * The form in which a change is logged. `value`: both sides. `text`: their beginnings. `keys`: the names of the changed top-level keys.
 * `fact`: only that it changed, because it is a secret or fills pages.
 */
type Telling = 'value' | 'text' | 'keys' | 'fact';

/** A field of the API, and its SQL over a row of the table. */
export type Field = [name: string, telling: Telling, sql: string];

export const EVENTS = ['insert', 'update', 'delete'] as const;
type Event = (typeof EVENTS)[number];

export interface Audited {
	table: string;
	type: string;
	fields: Field[];
	/** SQL of the row's id. Default `id`. */
	id?: string;
	/** SQL of the row's name. Default `name`. */
	name?: string;
	/** SQL that identifies the same row before and after. Default `id`. */
	match?: string;
	/** Default: all events. */
	events?: Event[];
	/** SQL of the organizations whose logs get the entry. Default: the row's `organization_id`. */
	organizations?: string;
}

const camelCase = (column: string): string => column.replaceAll(/_([a-z])/g, (_match, letter: string) => letter.toUpperCase());

export const values = (columns: string): Field[] => columns.split(' ').map((column) => [camelCase(column), 'value', column]);
export const facts = (columns: string): Field[] => columns.split(' ').map((column) => [camelCase(column), 'fact', `${column}::text`]);
export const keys = (column: string): Field[] => [[camelCase(column), 'keys', `readable(${column})`]];
/** Times in the API's format. */
export const times = (columns: string): Field[] =>
	columns
		.split(' ')
		.map((column) => [camelCase(column), 'value', `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`]);

type Side = 'former' | 'fresh';

/** Selects the logged fields of a row, under the names of the API. */
function read(transition: Side, audited: Audited, fields: Field[]): string {
	const { id = 'id', name = 'name', match = 'id', organizations = 'ARRAY[organization_id]' } = audited;
	const columns = { row_match: match, row_id: id, row_name: name, row_organizations: organizations };
	const named = [...Object.entries(columns), ...fields.map(([field, , sql]) => [field, sql])];
	return `(SELECT ${named.map(([as, sql]) => `${sql} AS "${as}"`).join(', ')} FROM ${transition} AS source) AS ${transition}`;
}

const select = (side: Side, changes: string[], from: string): string =>
	`SELECT ${side}.row_organizations AS organizations, ${side}.row_id AS id, ${side}.row_name AS name, ${changes.join(' || ')} AS changes
	FROM ${from}`;

const shown = (side: Side, [field, telling]: Field): string =>
	telling === 'text' ? `left(${side}."${field}", ${TEXT_LENGTH})` : `${side}."${field}"`;

/** Describes a row that was added or removed; null fields are left out. */
function whole(side: Side, end: 'from' | 'to', audited: Audited): string {
	const fields = audited.fields.filter(([, telling]) => telling === 'value' || telling === 'text');
	const changes = fields.map(
		(field) =>
			`CASE WHEN ${side}."${field[0]}" IS NULL THEN '{}'
			ELSE jsonb_build_object('${field[0]}', jsonb_build_object('${end}', ${shown(side, field)})) END`,
	);
	return select(side, changes, read(side, audited, fields));
}

/** Describes a row with changed fields. */
function difference(audited: Audited): string {
	const changes = audited.fields.map(
		(field) =>
			`CASE WHEN former."${field[0]}" IS NOT DISTINCT FROM fresh."${field[0]}" THEN '{}'
			ELSE jsonb_build_object('${field[0]}', ${DIFFERENCE[field[1]](field)}) END`,
	);
	const [former, fresh] = [read('former', audited, audited.fields), read('fresh', audited, audited.fields)];
	return `SELECT * FROM (${select('fresh', changes, `${former} JOIN ${fresh} USING (row_match)`)}) AS changed WHERE changes <> '{}'`;
}

const fromTo = (field: Field): string => `jsonb_build_object('from', ${shown('former', field)}, 'to', ${shown('fresh', field)})`;

const DIFFERENCE: Record<Telling, (field: Field) => string> = {
	value: fromTo,
	text: fromTo,
	keys: ([field]) => `jsonb_build_object('keys', (
		SELECT jsonb_agg(key ORDER BY key) FROM jsonb_object_keys(former."${field}" || fresh."${field}") AS key
		WHERE former."${field}" -> key IS DISTINCT FROM fresh."${field}" -> key))`,
	fact: () => `'{"changed": true}'::jsonb`,
};

const trigger = (audited: Audited, event: Event, tables: string, [action, query]: [action: string, query: string]): string =>
	`CREATE TRIGGER audit_${event} AFTER ${event} ON ${audited.table} REFERENCING ${tables}
	FOR EACH STATEMENT EXECUTE FUNCTION audit('${action}', '${audited.type}', $query$${query}$query$);`;

const TRIGGERS: Record<Event, (audited: Audited) => string> = {
	insert: (audited) => trigger(audited, 'insert', 'NEW TABLE AS fresh', ['create', whole('fresh', 'to', audited)]),
	update: (audited) => trigger(audited, 'update', 'OLD TABLE AS former NEW TABLE AS fresh', ['update', difference(audited)]),
	delete: (audited) => trigger(audited, 'delete', 'OLD TABLE AS former', ['delete', whole('former', 'from', audited)]),
};

/** Returns the triggers that log the changes of a table. */
export const auditTriggers = (audited: Audited): string[] => (audited.events ?? EVENTS).map((event) => TRIGGERS[event](audited));
