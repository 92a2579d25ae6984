// The skills behind the prompts and resources that the MCP conformance suite requires.

import { type Account, must } from '../helpers/service.ts';

/** A PNG of one pixel. */
const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==';

const argument = (name: string, required = true): object => ({ name, required, description: `The ${name}.` });

const SKILLS: readonly { name: string; body: string; [more: string]: unknown }[] = [
	// The first one, in which the suite looks for a folder.
	{
		name: 'conformance',
		body: 'Read references/deep.md.',
		files: {
			'static-text.txt': { text: 'This is the content of the static text resource.' },
			'watched.txt': { text: 'Watched.' },
			'static-binary.png': { base64: PIXEL },
			'references/deep.md': { text: 'Deep.' },
		},
	},
	{ name: 'test-simple-prompt', body: 'This is a simple prompt for testing.' },
	{
		name: 'test-prompt-with-arguments',
		body: "Prompt with arguments: arg1='{{arg1}}', arg2='{{arg2}}'",
		arguments: [argument('arg1'), argument('arg2')],
	},
	{
		name: 'test-prompt-with-embedded-resource',
		body: 'Process {{resourceUri}}.',
		arguments: [argument('resourceUri', false)],
		files: { 'notes.md': { text: 'Embedded resource content for testing.' } },
	},
	{ name: 'test-prompt-with-image', body: 'Analyze the image.', files: { 'image.png': { base64: PIXEL } } },
	{ name: 'test-input-required-result-prompt', body: 'Use {{context}}.', arguments: [argument('context')] },
];

/** Creates the skills in the account's organization, and assigns them to the gateway. */
export async function assignFixtureSkills(account: Account, gatewayId: string): Promise<void> {
	for (const skill of SKILLS) {
		const { id } = must(await account.post('/skills', { description: `Conformance: ${skill.name}`, ...skill }), 201).body.data;
		must(await account.post(`/gateways/${gatewayId}/skills`, { skillId: id }), 201);
	}
}
