import { describe } from 'node:test';
import importer from '../../../importers/soap/index.ts';
import { apiAt } from '../../../test/helpers/executor.ts';
import { content, documentOf, readOne } from '../../../test/helpers/soap.ts';
import { enveloped, sequence } from '../../../test/helpers/soap-answers.ts';
import { httpBehaviour } from '../../../testing/behaviours.ts';
import { executorContract, SECRET } from '../../../testing/executor.ts';
import soap from './index.ts';

const TYPE = 'text/xml; charset=utf-8';
const NO = enveloped('<e:Fault><faultcode>e:Server</faultcode><faultstring>no</faultstring></e:Fault>');

const inMessage = (text: string): string => {
	const escaped = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
	return enveloped(`<t:Do xmlns:t="urn:t"><t:text>${escaped}</t:text></t:Do>`);
};

describe('A tool of an operation that returns its input, an element with one member', async () => {
	const operation = await readOne(documentOf(content(sequence('name="text" type="xs:string"'))));
	const { executionConfig } = importer.tool(operation, apiAt('https://api.example.com'));
	const { style: _, ...styleless } = executionConfig;

	executorContract(soap, {
		start: (t, behaviour) =>
			httpBehaviour(t, behaviour, {
				echo: (body) => ({ type: TYPE, body }),
				fail: { status: 500, type: TYPE, body: NO },
				tell: (request) => ({ type: TYPE, body: inMessage(request) }),
				endless: { type: TYPE, begin: '<a>', piece: '<b/>' },
			}),
		config: (origin, more) => ({ ...executionConfig, endpoint: `${origin}/x`, ...more }),
		secretConfig: (origin) => ({ ...executionConfig, endpoint: `${origin}/x`, headers: { authorization: 'Bearer key' } }),
		echoed: ({ structured }) => (structured as { text: string }).text,
		bad: [
			{ config: styleless, says: /"style" is required/ },
			{ config: { ...executionConfig, version: '2.0' }, says: /"version" must be one of/ },
			{ config: { ...executionConfig, endpoint: 'https://ada:secret@api.example.com/' }, says: /"endpoint" must be an http or https URL/ },
			{ config: { ...executionConfig, headers: { host: 'x' } }, says: /"headers".*set by the gateway/ },
			{ config: { ...executionConfig, wsSecurity: 'kerberos' }, says: /"wsSecurity" must be one of/ },
		],
		timeoutField: 'timeoutMs',
		hasAddress: true,
		signed: (request) => ({
			...request,
			url: `${request.url}?key=${SECRET}`,
			headers: { ...request.headers, authorization: `Basic ${Buffer.from(`ada:${SECRET}`).toString('base64')}`, 'x-key': SECRET },
		}),
	});
});
