// The entry point `gatehouse/testing`: what the author of a plugin tests it with.

export type { LogLine } from './collected-log.ts';
export { type FakeCall, type FakeCallOptions, type FakeTool, fakeCall } from './fake-call.ts';
export { fakeRequest } from './samples.ts';
export { type Gatehouse, type GatehouseOptions, startGatehouse } from './start.ts';
