// The entry point `gatehouse/testing`: what the author of a plugin tests it with.

export type { Account, Answer, MadeGateway, NewGateway, NewTool } from './account.ts';
export { type AuthOptions, authContract } from './auth.ts';
export { type HttpBehaviours, httpBehaviour } from './behaviours.ts';
export { assertHidden, CANARY, withCanary } from './canary.ts';
export type { LogLine } from './collected-log.ts';
export { type Behaviour, type ExecutorOptions, executorContract } from './executor.ts';
export { type FakeCall, type FakeCallOptions, type FakeTool, fakeCall } from './fake-call.ts';
export { type FeatureJob, type FeatureOptions, type FeatureSample, type FeatureStory, featureContract } from './feature/contract.ts';
export { type ImporterOptions, type ImporterSample, importerContract } from './importer.ts';
export { type NodeOptions, type NodeSample, nodeContract } from './node.ts';
export { CALLS, KEY, type ModelBehaviour, type ProviderOptions, providerContract, USAGE } from './provider.ts';
export { fakeRequest } from './samples.ts';
export type { FakeSkill } from './skills.ts';
export { type Gatehouse, type GatehouseOptions, startGatehouse } from './start.ts';
export { type TransportOptions, type TransportSample, transportContract } from './transport.ts';
export { httpUpstream, tcpUpstream, type Upstream } from './upstream.ts';
