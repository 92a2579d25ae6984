// The upstream of the gRPC executor's benchmark: one small message, as fast as grpc-js sends it.

import { Server, ServerCredentials } from '@grpc/grpc-js';
import { itemType } from './grpc-items.ts';
import { announce } from './subject.ts';

const item = { title: 'Pride and Prejudice', authors: ['Jane Austen'], price: { amount: 1295, currency: 'EUR' }, copies: 11 };
const server = new Server();
const Get = {
	path: '/bench.Items/Get',
	requestStream: false,
	responseStream: false,
	requestDeserialize: (bytes: Buffer) => itemType('Ask').decode(bytes),
	requestSerialize: () => Buffer.alloc(0),
	responseSerialize: (value: object) => Buffer.from(itemType('Item').encode(itemType('Item').fromObject(value)).finish()),
	responseDeserialize: () => null,
};
const answer = ({ request }: { request: { id: string } }, done: (error: null, value: object) => void): void =>
	done(null, { ...item, path: `/items/${request.id}` });
// The two functions above decide the type of messages.
server.addService({ Get }, { Get: answer as never });
server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) => {
	if (error) throw error;
	announce(`http://127.0.0.1:${port}`, async () => server.forceShutdown());
});
