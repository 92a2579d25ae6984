import { modelsAt, PROVIDER_ID } from '../../../test/helpers/model-connections.ts';
import { COARSE, modelServer } from '../../../test/helpers/models.ts';
import { type Behaviour, executorContract } from '../../../testing/executor.ts';
import type { ModelBehaviour } from '../../../testing/provider.ts';
import llm from './index.ts';

const BEHAVIOURS: Record<Behaviour, ModelBehaviour> = {
	...{ echo: 'echo', fail: 'fail', hang: 'hang', reset: 'reset', nonsense: 'nonsense', endless: 'flood', tell: 'key' },
};
const GOOD = { providerId: PROVIDER_ID, promptTemplate: '{{text}}' };

executorContract(llm, {
	start: (t, behaviour) => modelServer(t, BEHAVIOURS[behaviour], COARSE),
	config: (_origin, more) => ({ ...GOOD, ...more }),
	models: (t, origin) => modelsAt(t, origin).models,
	echoed: ({ content: [first] }) => (first?.type === 'text' ? first.text : undefined),
	bad: [
		{ config: { promptTemplate: 'x' }, says: /"providerId" is required/ },
		{ config: { providerId: PROVIDER_ID }, says: /"promptTemplate" is required/ },
		{ config: { ...GOOD, providerId: 'x' }, says: /"providerId" must be a valid GUID/ },
		{ config: { ...GOOD, parameters: { temperature: 3 } }, says: /"parameters\.temperature" must be/ },
		{ config: { ...GOOD, outputSchema: 'x' }, says: /"outputSchema" must be/ },
	],
	timeoutField: 'timeoutMs',
	hasAddress: false,
	signed: null,
});
