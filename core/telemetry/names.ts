// The one mapping of names: spans, metrics and attributes as the semantic conventions of OpenTelemetry have them (HTTP 1.41; GenAI and MCP as of
// October 2026, https://github.com/open-telemetry/semantic-conventions-genai), and ours beside them under `gatehouse.`.

/** Attributes of spans, metrics and logs. */
export const ATTRIBUTES = {
	httpMethod: 'http.request.method',
	httpRoute: 'http.route',
	httpStatus: 'http.response.status_code',
	urlScheme: 'url.scheme',
	urlPath: 'url.path',
	serverAddress: 'server.address',
	serverPort: 'server.port',
	protocolVersion: 'network.protocol.version',
	transport: 'network.transport',
	errorType: 'error.type',
	mcpMethod: 'mcp.method.name',
	mcpVersion: 'mcp.protocol.version',
	mcpResource: 'mcp.resource.uri',
	jsonrpcId: 'jsonrpc.request.id',
	rpcStatus: 'rpc.response.status_code',
	operation: 'gen_ai.operation.name',
	tool: 'gen_ai.tool.name',
	toolType: 'gen_ai.tool.type',
	prompt: 'gen_ai.prompt.name',
	agent: 'gen_ai.agent.name',
	agentId: 'gen_ai.agent.id',
	agentVersion: 'gen_ai.agent.version',
	provider: 'gen_ai.provider.name',
	requestModel: 'gen_ai.request.model',
	responseModel: 'gen_ai.response.model',
	finishReasons: 'gen_ai.response.finish_reasons',
	inputTokens: 'gen_ai.usage.input_tokens',
	outputTokens: 'gen_ai.usage.output_tokens',
	cachedTokens: 'gen_ai.usage.cache_read.input_tokens',
	dbState: 'db.client.connection.state',
	dbPool: 'db.client.connection.pool.name',
	organization: 'gatehouse.organization',
	organizationId: 'gatehouse.organization.id',
	gateway: 'gatehouse.gateway',
	outcome: 'gatehouse.outcome',
	requestId: 'gatehouse.request.id',
	runId: 'gatehouse.run.id',
	runAttempt: 'gatehouse.run.attempt',
	runStatus: 'gatehouse.run.status',
	node: 'gatehouse.node.id',
	nodeType: 'gatehouse.node.type',
	window: 'gatehouse.limit.window',
	costUsd: 'gatehouse.cost.usd',
	worker: 'gatehouse.worker',
} as const;

/** Fields of the log by the attributes under which OTLP carries them; others get a prefix. */
export const LOG_FIELDS: Readonly<Record<string, string>> = {
	requestId: ATTRIBUTES.requestId,
	method: ATTRIBUTES.httpMethod,
	path: ATTRIBUTES.urlPath,
	status: ATTRIBUTES.httpStatus,
	address: 'client.address',
	organization: ATTRIBUTES.organization,
	gateway: ATTRIBUTES.gateway,
	tool: ATTRIBUTES.tool,
	runId: ATTRIBUTES.runId,
	nodeId: ATTRIBUTES.node,
};
export const OTHER_LOG_FIELDS = 'gatehouse.log.';

/** Values that the conventions name. */
export const OPERATIONS = { tool: 'execute_tool', agent: 'invoke_agent', chat: 'chat' } as const;

/** Names of spans. */
export const SPANS = {
	http: (method: string, route: string | null): string => (route === null ? method : `${method} ${route}`),
	message: (method: string, target: string | null): string => (target === null ? method : `${method} ${target}`),
	tool: (name: string): string => `${OPERATIONS.tool} ${name}`,
	chat: (model: string): string => `${OPERATIONS.chat} ${model}`,
	agent: (name: string): string => `${OPERATIONS.agent} ${name}`,
	node: (type: string): string => `node ${type}`,
	/** An exchange in a protocol with a socket of its own. */
	exchange: 'exchange',
} as const;

export interface Metric {
	/** The name of OpenTelemetry. `prometheusName` returns that of `/metrics`. */
	name: string;
	kind: 'counter' | 'histogram' | 'gauge';
	unit: string;
	description: string;
	/** The attributes of its points. */
	labels: readonly string[];
	/** The upper bounds of the buckets of a histogram. */
	buckets?: readonly number[];
	/** The value is one of the whole installation: workers of one machine tell the same, so theirs are not added up. */
	isShared?: boolean;
}

/** The buckets that the conventions give for HTTP, and for operations of models and tools. */
const HTTP_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];
const GEN_AI_BUCKETS = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];
const MCP_BUCKETS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300];

const A = ATTRIBUTES;
const MODEL = [A.operation, A.provider, A.requestModel, A.organization] as const;

export const METRICS = {
	http: {
		...{ name: 'http.server.request.duration', kind: 'histogram', unit: 's', description: 'Duration of HTTP server requests.' },
		...{ labels: [A.httpMethod, A.httpRoute, A.httpStatus, A.errorType, A.urlScheme], buckets: HTTP_BUCKETS },
	},
	gateway: {
		...{ name: 'gatehouse.gateway.requests', kind: 'counter', unit: '{request}', description: 'Requests to published gateways.' },
		labels: [A.organization, A.gateway, A.outcome],
	},
	gatewayDuration: {
		...{ name: 'gatehouse.gateway.request.duration', kind: 'histogram', unit: 's', description: 'Duration of requests to gateways.' },
		...{ labels: [A.organization, A.gateway], buckets: HTTP_BUCKETS },
	},
	message: {
		...{ name: 'mcp.server.operation.duration', kind: 'histogram', unit: 's' },
		description: 'MCP request or notification duration as observed on the receiver.',
		...{ labels: [A.mcpMethod, A.mcpVersion, A.errorType, A.transport], buckets: MCP_BUCKETS },
	},
	tool: {
		...{ name: 'gen_ai.execute_tool.duration', kind: 'histogram', unit: 's', description: 'Duration of tool executions.' },
		...{ labels: [A.organization, A.tool, A.errorType], buckets: GEN_AI_BUCKETS },
	},
	upstream: {
		...{
			name: 'gatehouse.upstream.duration',
			kind: 'histogram',
			unit: 's',
			description: 'Time for which a tool run waited for upstreams.',
		},
		...{ labels: [A.organization], buckets: GEN_AI_BUCKETS },
	},
	waiting: {
		...{ name: 'gatehouse.upstream.waiting', kind: 'histogram', unit: 's', description: 'Time for which a tool run waited for its turn.' },
		...{ labels: [A.organization], buckets: GEN_AI_BUCKETS },
	},
	refusals: {
		...{ name: 'gatehouse.limit.refusals', kind: 'counter', unit: '{request}', description: 'Requests that a rate limit refused.' },
		labels: [A.window],
	},
	model: {
		...{ name: 'gen_ai.client.inference.duration', kind: 'histogram', unit: 's', description: 'Duration of calls of language models.' },
		...{ labels: [...MODEL, A.errorType], buckets: GEN_AI_BUCKETS },
	},
	inputTokens: {
		...{ name: 'gen_ai.client.inference.usage.input_tokens', kind: 'counter', unit: '{token}', description: 'Input tokens used.' },
		labels: MODEL,
	},
	outputTokens: {
		...{ name: 'gen_ai.client.inference.usage.output_tokens', kind: 'counter', unit: '{token}', description: 'Output tokens used.' },
		labels: MODEL,
	},
	cost: {
		...{ name: 'gatehouse.model.cost', kind: 'counter', unit: 'USD', description: 'Cost of calls of language models in US dollars.' },
		labels: MODEL,
	},
	agent: {
		...{ name: 'gen_ai.invoke_agent.duration', kind: 'histogram', unit: 's', description: 'Duration of the last attempts of agent runs.' },
		...{ labels: [A.organization, A.outcome], buckets: GEN_AI_BUCKETS },
	},
	streams: {
		...{ name: 'gatehouse.streams.open', kind: 'gauge', unit: '{stream}', description: 'Open event streams.', labels: [] },
	},
	inFlight: {
		...{
			name: 'http.server.active_requests',
			kind: 'gauge',
			unit: '{request}',
			description: 'Requests that are being answered.',
			labels: [],
		},
	},
	queue: {
		...{ name: 'gatehouse.runs.unfinished', kind: 'gauge', unit: '{run}', description: 'Runs and jobs that have not ended.' },
		...{ labels: [A.runStatus], isShared: true },
	},
	dbConnections: {
		...{ name: 'db.client.connection.count', kind: 'gauge', unit: '{connection}', description: 'Connections of a database pool.' },
		labels: [A.dbPool, A.dbState],
	},
	dbWaiting: {
		...{ name: 'db.client.connection.pending_requests', kind: 'gauge', unit: '{request}' },
		...{ description: 'Requests that wait for a connection of a database pool.', labels: [A.dbPool] },
	},
	loopP50: loopDelay('p50', 'The median delay of the event loop since the last look.'),
	loopP99: loopDelay('p99', 'The 99th percentile of the delay of the event loop since the last look.'),
	loopMax: loopDelay('max', 'The longest delay of the event loop since the last look.'),
	loopUse: {
		...{
			name: 'nodejs.eventloop.utilization',
			kind: 'gauge',
			unit: '1',
			description: 'The share of time in which the event loop is busy.',
		},
		labels: [A.worker],
	},
	memory: {
		...{ name: 'process.memory.usage', kind: 'gauge', unit: 'By', description: 'Physical memory in use.', labels: [A.worker] },
	},
	heap: {
		...{ name: 'v8js.memory.heap.used', kind: 'gauge', unit: 'By', description: 'Heap memory in use.', labels: [A.worker] },
	},
	cpu: {
		...{ name: 'process.cpu.time', kind: 'counter', unit: 's', description: 'CPU seconds of the process.', labels: [A.worker] },
	},
	uptime: {
		...{ name: 'process.uptime', kind: 'gauge', unit: 's', description: 'The time for which the process runs.', labels: [A.worker] },
	},
} as const satisfies Record<string, Metric>;

export type MetricName = keyof typeof METRICS;

function loopDelay<Name extends string>(statistic: Name, description: string) {
	return { name: `nodejs.eventloop.delay.${statistic}`, kind: 'gauge', unit: 's', description, labels: [A.worker] } as const;
}

/** Returns the name that the official exporter writes for a metric, before the suffixes of a histogram. */
export const prometheusName = ({ name, kind }: Pick<Metric, 'name' | 'kind'>): string =>
	name.replace(/[^a-z0-9]+/gi, '_') + (kind === 'counter' ? '_total' : '');

/** Returns the name of an attribute in `/metrics`. */
export const prometheusLabel = (attribute: string): string => attribute.replace(/[^a-z0-9]+/gi, '_');
