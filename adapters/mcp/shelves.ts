// The methods about prompts, resources and skills, by name: what both eras answer beside the tools.

import type { Method } from './dispatch.ts';
import { complete } from './prompts/completion.ts';
import { listPrompts } from './prompts/prompts.ts';
import { listResources, listTemplates, readResource } from './resources/methods.ts';
import { getSkill, listSkills, readFolder } from './resources/skills-extension.ts';

/** Methods whose results a client may keep for a while. @param unknownResource the code of the era's error for a resource that does not exist */
export const keepable = (unknownResource: number): [name: string, method: Method][] => [
	['prompts/list', listPrompts],
	['resources/list', listResources],
	['resources/templates/list', listTemplates],
	['resources/read', readResource(unknownResource)],
	['resources/directory/read', readFolder],
	['skills/list', listSkills],
	['skills/get', getSkill],
];

export const completion: [name: string, method: Method] = ['completion/complete', complete];
