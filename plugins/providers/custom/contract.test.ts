import { modelServer } from '../../../test/helpers/models.ts';
import { KEY, providerContract } from '../../../testing/provider.ts';
import provider from './index.ts';

providerContract(provider, {
	start: modelServer,
	config: (origin) => ({ baseUrl: origin, apiKey: KEY }),
	bad: [
		{ config: { apiKey: 'x' }, says: /"baseUrl" is required/ },
		{ config: { apiKey: 'x', baseUrl: 'ftp://api.example.com' }, says: /"baseUrl" must be a valid uri/ },
	],
	priced: null,
});
