// The gRPC service of the benchmarks: the item that the other upstream returns, as a message.

import protobuf from 'protobufjs';

export const PROTO = `syntax = "proto3"; package bench;
service Items { rpc Get(Ask) returns (Item); }
message Ask { string id = 1; }
message Price { int32 amount = 1; string currency = 2; }
message Item { string path = 1; string title = 2; repeated string authors = 3; Price price = 4; int64 copies = 5; }`;
const { root } = protobuf.parse(PROTO);
const types = new Map(['Ask', 'Item'].map((name) => [name, root.lookupType(`bench.${name}`)]));

export function itemType(name: 'Ask' | 'Item'): protobuf.Type {
	const type = types.get(name);
	if (!type) throw new Error(`The benchmark has no type ${name}.`);
	return type;
}
