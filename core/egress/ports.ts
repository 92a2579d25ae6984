// Ports of services that do not speak HTTP but might execute a request as commands: https://fetch.spec.whatwg.org/#port-blocking
// with the databases, brokers and remote shells that the browsers' list omits.

import type { SocketProtocol } from '../contract/outbound.ts';

const FETCH_BAD_PORTS = [
	0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109, 110, 111, 113, 115, 117,
	119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636,
	989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
];

/** SMB, rsync, SQL databases, MQTT, ZooKeeper, RDP, NATS, AMQP, VNC, Redis, Cassandra, Kafka, memcached, MongoDB, STOMP. */
const OTHER_PORTS = [
	445, 873, 1433, 1434, 1521, 1883, 2181, 3306, 3389, 4222, 5432, 5433, 5671, 5672, 5900, 6379, 6380, 8883, 9042, 9092, 11211, 16379, 26379,
	27017, 27018, 27019, 61613, 61616,
];

/** The ports of protocols with a socket of their own: a plugin that speaks one of them may connect there. */
const PROTOCOL_PORTS: Readonly<Record<SocketProtocol, readonly number[]>> = {
	amqp: [5671, 5672],
	cassandra: [9042],
	ftp: [20, 21, 989, 990],
	imap: [143, 993],
	kafka: [9092],
	ldap: [389, 636],
	memcached: [11211],
	mongodb: [27017, 27018, 27019],
	mqtt: [1883, 8883],
	mssql: [1433, 1434],
	mysql: [3306],
	nats: [4222],
	oracle: [1521],
	pop3: [110, 995],
	postgresql: [5432, 5433],
	redis: [6379, 6380, 16379, 26379],
	smtp: [25, 465, 587],
	ssh: [22],
};

/** Whether a port is refused to a protocol; null: to HTTP. */
export const isRefusedPort = (port: number, protocol: SocketProtocol | null): boolean =>
	REFUSED_PORTS.has(port) && !(protocol !== null && PROTOCOL_PORTS[protocol].includes(port));

/** Ports that are refused unless the operator opened the whole origin. */
const REFUSED_PORTS: ReadonlySet<number> = new Set([...FETCH_BAD_PORTS, ...OTHER_PORTS]);
