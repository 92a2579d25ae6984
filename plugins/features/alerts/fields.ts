// The fields of alert rules, and what an answer shows of them.

import { randomBytes } from 'node:crypto';
import Joi from 'joi';
import {
	ALERT_KINDS,
	type AlertRuleRow,
	alertLocation,
	asGatewayError,
	body,
	type Core,
	count,
	displayName,
	invalid,
	present,
	shape,
	timestamp,
	uuid,
} from '../../../core/features.ts';

export const MOST_RULES = 50;
const MAX_WINDOW_MINUTES = 60;
const MAX_LATENCY_MS = 600_000;

const kind = Joi.string()
	.valid(...ALERT_KINDS)
	.description(
		'`error_rate`: the share of failed calls of a tool. `latency`: how long 95 % of them take at most. `credential`: the API or its token server ' +
			'refuses the stored credential. `document`: the description of an API with `watch: daily` has changed.',
	);
const bound = Joi.number()
	.positive()
	.description('The value above which it alerts: a share up to 1, or milliseconds. It is over at four fifths of it.');
const windowMinutes = Joi.number()
	.integer()
	.min(1)
	.max(MAX_WINDOW_MINUTES)
	.description('The minutes that are looked at, the present one included.');
const minCalls = Joi.number().integer().min(1).max(1_000_000).description('With fewer calls in the window it does not alert.');
const url = Joi.string().max(2048).description('The receiver, by POST; it is shown to nobody.');
const status = Joi.string().valid('active', 'inactive');

export const CREATE = body({
	name: displayName.required(),
	kind: kind.required(),
	toolId: uuid.description('The tool of a rule about calls. Absent: each tool on its own.'),
	apiId: uuid.description('The API of a rule about a credential or a document. Absent: each API on its own.'),
	bound,
	windowMinutes: windowMinutes.default(5),
	minCalls: minCalls.default(10),
	url: url.required(),
}).example({
	name: 'Failing tools',
	kind: 'error_rate',
	bound: 0.2,
	windowMinutes: 5,
	minCalls: 20,
	url: 'https://hooks.example.com/alerts',
});

export const UPDATE = body({ name: displayName, bound, windowMinutes, minCalls, url, status }).min(1).example({ bound: 0.5 });

const fields = {
	id: uuid,
	name: Joi.string(),
	kind,
	toolId: uuid.allow(null),
	apiId: uuid.allow(null),
	bound: bound.allow(null),
	windowMinutes: count,
	minCalls: count,
	receiver: Joi.string()
		.allow(null)
		.description('The origin of the receiver; null when it cannot be read any more.')
		.example('https://hooks.example.com'),
	status,
	createdAt: timestamp,
	updatedAt: timestamp,
};
export const RULE = shape(fields).meta({ schema: 'AlertRule' });
export const WITH_SECRET = shape({
	...fields,
	secret: Joi.string().description('Signs each message by Standard Webhooks. Shown in this answer only.').example('whsec_…'),
}).meta({ schema: 'NewAlertRule' });

const isOfCalls = ({ kind: of }: Pick<AlertRuleRow, 'kind'>): boolean => of === 'error_rate' || of === 'latency';

/** @throws validation_failed naming the field that does not go with the kind */
export function assertFits(rule: Pick<AlertRuleRow, 'kind'> & Partial<Pick<AlertRuleRow, 'bound' | 'toolId' | 'apiId'>>): void {
	const { bound: most = null, toolId = null, apiId = null } = rule;
	if (isOfCalls(rule)) {
		if (apiId !== null) throw invalid('/apiId', 'A rule about calls is about tools: give "toolId", or neither.');
		if (most === null) throw invalid('/bound', 'A rule about calls needs a "bound".');
		const greatest = rule.kind === 'error_rate' ? 1 : MAX_LATENCY_MS;
		if (most > greatest) throw invalid('/bound', `"bound" must be at most ${greatest}`);
		return;
	}
	if (toolId !== null) throw invalid('/toolId', 'A rule of this kind is about APIs: give "apiId", or neither.');
	if (most !== null) throw invalid('/bound', 'A rule of this kind has no bound.');
}

export const newSecret = (): string => `whsec_${randomBytes(32).toString('base64')}`;

export const sealed = (row: Pick<AlertRuleRow, 'organizationId' | 'id'>, plain: string, { secrets }: Core): string =>
	secrets.seal(plain, alertLocation(row));

export const presentRule = (row: AlertRuleRow, core: Core) => present(RULE, row, { receiver: receiverOf(row, core) });
export const presentSecret = (row: AlertRuleRow, secret: string, core: Core) =>
	present(WITH_SECRET, row, { receiver: receiverOf(row, core), secret });

function receiverOf(row: AlertRuleRow, { secrets }: Core): string | null {
	try {
		return new URL(secrets.open(row.url, alertLocation(row), 'The receiver of the rule')).origin;
	} catch (thrown) {
		if (asGatewayError(thrown)?.code !== 'secret_unreadable') throw thrown;
		return null;
	}
}
