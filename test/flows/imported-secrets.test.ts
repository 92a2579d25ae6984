// Tests an importer of a package that writes secrets into the configs of its tools: none is stored, by an import, by a later one, or when
// tools are made; and neither an answer nor the log shows one.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { administer } from '../helpers/postgres.ts';
import { type Account, type Answer, must, registerAccount, startTestService, type TestService } from '../helpers/service.ts';
import { writePackages } from '../helpers/written-packages.ts';

/** The text of a description tells the config of its tool. */
const CARELESS = `
import Joi from 'joi';

const CONFIGS = {
	clean: { keys: [{ name: 'a' }] },
	other: { keys: [{ name: 'b' }] },
	field: { token: 'canary-field' },
	listed: { keys: [{ name: 'a' }, { name: 'b', key: 'canary-listed' }] },
};

const executor = {
	kind: 'executor',
	api: 1,
	name: 'keyed',
	summary: 'Has secrets.',
	config: Joi.object({
		token: Joi.string().meta({ secret: true }),
		keys: Joi.array().items(Joi.object({ name: Joi.string(), key: Joi.string().meta({ secret: true }) })),
	}),
	execute: async () => ({ content: [] }),
};

const importer = {
	kind: 'importer',
	api: 1,
	name: 'careless',
	summary: 'Makes one operation.',
	config: Joi.object({}),
	detect: () => 0,
	async *parse({ text }) {
		yield {
			...{ key: 'GET /', operationId: 'read', name: 'read', description: text, method: 'GET', path: '/', tags: [], deprecated: false },
			...{ parameters: { type: 'object' }, outputSchema: null, definition: {}, outcome: 'converted', reasons: [] },
		};
		return { format: 'careless 1', title: null, version: null, servers: [] };
	},
	tool: ({ name, description }) => ({
		...{ name, description, parameters: { type: 'object' }, outputSchema: null, annotations: {} },
		...{ executor: 'keyed', executionConfig: CONFIGS[description] },
	}),
};

export default [executor, importer];
`;

let packages: Disposable;
let service: TestService;
let account: Account;
const lines: string[] = [];
const answers: Answer[] = [];

before(async () => {
	packages = writePackages({ 'careless-plugin': CARELESS });
	service = await startTestService({
		env: { GATEWAY_PLUGINS: 'careless-plugin', LOG_LEVEL: 'debug' },
		onLog: (line) => void lines.push(line),
	});
	account = await registerAccount(service.url);
});
after(async () => {
	await service.stop();
	packages[Symbol.dispose]();
});

const newApi = async (): Promise<string> =>
	must(await account.post('/apis', { name: 'Careless', type: 'careless', baseUrl: service.url }), 201).body.data.id;

async function importInto(apiId: string, schemaContent: string, generateTools: boolean): Promise<Answer> {
	const answer = await account.post(`/apis/${apiId}/import-schema`, { schemaContent, generateTools });
	answers.push(answer);
	return answer;
}

async function configsOf(apiId: string): Promise<unknown[]> {
	const rows = await administer(service.config.database ?? assert.fail(), `SELECT execution_config FROM tools WHERE api_id = '${apiId}'`);
	return (rows as { execution_config: unknown }[]).map((row) => row.execution_config);
}

for (const [text, pointer] of [
	['field', '/token'],
	['listed', '/keys/1/key'],
] as const)
	test(`a secret in ${pointer} of a tool’s config is not stored, when tools are made, and by a later import`, async () => {
		const isFault = ({ status, body }: Answer): void => {
			assert.deepEqual([status, body.error], [500, 'INTERNAL'], JSON.stringify(body));
			assert.match(
				lines.join('\n'),
				new RegExp(`importer:careless: the draft that tool returns must not fill ${pointer} of executionConfig`),
			);
		};
		const first = await newApi();
		isFault(await importInto(first, text, true));
		assert.deepEqual(await configsOf(first), []);
		const made = await account.post(`/apis/${first}/generate-tools`, {});
		answers.push(made);
		isFault(made);
		assert.deepEqual(await configsOf(first), []);

		const later = await newApi();
		must(await importInto(later, 'clean', true), 200);
		const before = await configsOf(later);
		assert.equal(before.length, 1);
		isFault(await importInto(later, text, false));
		assert.deepEqual(await configsOf(later), before);
		must(await importInto(later, 'other', false), 200);
		assert.notDeepEqual(await configsOf(later), before);
	});

test('no answer, line of the log or row shows a secret', async () => {
	assert.doesNotMatch(JSON.stringify(answers), /canary/);
	assert.doesNotMatch(lines.join(), /canary/);
	const rows = await administer(service.config.database ?? assert.fail(), 'SELECT t::text FROM tools t');
	assert.doesNotMatch(JSON.stringify(rows), /canary/);
});
