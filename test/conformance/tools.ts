// The tools that the MCP conformance suite (0.2.0-alpha.12) requires, each with the fixture's behaviour behind it.

import { type Account, must } from '../helpers/service.ts';

interface ConformanceTool {
	name: string;
	behaviour: string;
	parameters?: object;
}

/** The schema of the scenario `json-schema-2020-12`: all its keywords must be preserved. */
const SCHEMA_2020_12 = {
	$schema: 'https://json-schema.org/draft/2020-12/schema',
	type: 'object',
	$defs: {
		address: {
			$anchor: 'addressDef',
			type: 'object',
			properties: { street: { type: 'string' }, city: { type: 'string' } },
		},
	},
	properties: {
		name: { type: 'string' },
		address: { $ref: '#/$defs/address' },
		contactMethod: { type: 'string', enum: ['phone', 'email'] },
		phone: { type: 'string' },
		email: { type: 'string' },
	},
	allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
	if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
	// biome-ignore lint/suspicious/noThenProperty: it is JSON Schema's keyword, and nobody awaits this object
	then: { required: ['phone'] },
	else: { required: ['email'] },
	additionalProperties: false,
};

export const CONFORMANCE_TOOLS: readonly ConformanceTool[] = [
	{ name: 'test_simple_text', behaviour: 'simple_text' },
	{ name: 'test_image_content', behaviour: 'image' },
	{ name: 'test_audio_content', behaviour: 'audio' },
	{ name: 'test_embedded_resource', behaviour: 'embedded_resource' },
	{ name: 'test_multiple_content_types', behaviour: 'mixed_content' },
	{ name: 'test_error_handling', behaviour: 'error' },
	{ name: 'test_tool_with_progress', behaviour: 'progress' },
	{ name: 'json_schema_2020_12_tool', behaviour: 'simple_text', parameters: SCHEMA_2020_12 },
	{ name: 'test_missing_capability', behaviour: 'sampling' },
	{ name: 'test_streaming_elicitation', behaviour: 'simple_text' },
	{ name: 'test_elicitation', behaviour: 'elicitation', parameters: { type: 'object', properties: { message: { type: 'string' } } } },
	{ name: 'test_elicitation_sep1034_defaults', behaviour: 'elicitation_defaults' },
	{ name: 'test_elicitation_sep1330_enums', behaviour: 'elicitation_enums' },
	{ name: 'test_input_required_result_elicitation', behaviour: 'name' },
	{ name: 'test_input_required_result_request_state', behaviour: 'confirmation' },
	{ name: 'test_input_required_result_tampered_state', behaviour: 'confirmation' },
	{ name: 'test_input_required_result_multi_round', behaviour: 'two_questions' },
	// Its documentation is a resource by a template.
	{ name: '123', behaviour: 'simple_text' },
	{ name: 'test_logging_tool', behaviour: 'simple_text' },
	{
		name: 'test_x_mcp_header',
		behaviour: 'simple_text',
		parameters: { type: 'object', properties: { region: { type: 'string', 'x-mcp-header': 'Region' } } },
	},
];

/** Creates the tools in the account's organization. @returns their ids */
export async function createFixtureTools(account: Account, tools: readonly ConformanceTool[] = CONFORMANCE_TOOLS): Promise<string[]> {
	const ids: string[] = [];
	for (const { name, behaviour, parameters = { type: 'object', properties: {} } } of tools) {
		const body = {
			name,
			description: `Conformance: ${behaviour}`,
			type: 'conformance_fixture',
			parameters,
			executionConfig: { behaviour },
		};
		ids.push(must(await account.post(`/organizations/${account.organization.id}/tools`, body), 201).body.data.id);
	}
	return ids;
}
