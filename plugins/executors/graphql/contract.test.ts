import { httpBehaviour } from '../../../testing/behaviours.ts';
import { executorContract, SECRET } from '../../../testing/executor.ts';
import graphql from './index.ts';

const TYPE = 'application/graphql-response+json';
const QUERY = 'query ($text: String) { echo(text: $text) { text } }';

executorContract(graphql, {
	start: (t, behaviour) =>
		httpBehaviour(t, behaviour, {
			echo: (body) => ({ type: TYPE, body: JSON.stringify({ data: { echo: { text: JSON.parse(body).variables.text } } }) }),
			fail: { status: 200, type: TYPE, body: '{"errors":[{"message":"no"}]}' },
			tell: (request) => ({ type: TYPE, body: JSON.stringify({ data: { echo: request }, errors: [{ message: request }] }) }),
			endless: { type: TYPE, begin: '{"data":{"list":[1', piece: ',1' },
		}),
	config: (origin, more) => ({ endpoint: `${origin}/graphql`, query: QUERY, ...more }),
	secretConfig: (origin) => ({ endpoint: `${origin}/graphql`, query: QUERY, headers: { authorization: 'Bearer key' } }),
	echoed: ({ structured }) => (structured as { echo: { text: string } }).echo.text,
	bad: [
		{ config: { endpoint: 'https://api.example.com' }, says: /"query" is required/ },
		{ config: { endpoint: 'file:///etc/passwd', query: QUERY }, says: /"endpoint" must be/ },
		{ config: { endpoint: 'https://user@api.example.com', query: QUERY }, says: /"endpoint" must be/ },
		{ config: { query: QUERY, operationName: 'a b' }, says: /"operationName"/ },
	],
	timeoutField: 'timeoutMs',
	hasAddress: true,
	signed: (request) => ({ ...request, headers: { ...request.headers, authorization: `Bearer ${SECRET}`, cookie: `session=${SECRET}` } }),
});
