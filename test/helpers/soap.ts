// SOAP in tests: the fixtures as an importer reads them, and servers of the package `soap` that keep the messages they received.

import { readFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import { type IServices, listen, type Server } from 'soap';
import type { Api, JsonObject, Operation, SchemaSource, ToolDraft } from '../../core/index.ts';
import importer from '../../importers/soap/index.ts';
import { apiAt } from './executor.ts';
import { type Reading, readWith } from './importer.ts';

const FOLDER = new URL('../fixtures/soap/', import.meta.url);
const SHOP_FILES = ['shop.wsdl', 'messages.wsdl', 'xsd/shop.xsd', 'xsd/parts.xsd', 'xsd/common.xsd'];

export const fixture = (name: string): string => readFileSync(new URL(name, FOLDER), 'utf8');

export const shopFiles = (): Map<string, Uint8Array> => new Map(SHOP_FILES.map((name) => [name, readFileSync(new URL(name, FOLDER))]));

/** Reads a fixture; the shop has several files, all others one. */
export async function readFixture(name: string): Promise<Reading> {
	const more: Partial<SchemaSource> = name === 'shop.wsdl' ? { path: name, files: shopFiles() } : {};
	return readWith(importer, fixture(name), null, more);
}

/** Makes a document of one operation, `Do`, whose message is the element `Do` of the schema. */
export function documentOf(schema: string, attributes = 'elementFormDefault="qualified"'): string {
	return `<definitions targetNamespace="urn:t" xmlns="http://schemas.xmlsoap.org/wsdl/" xmlns:t="urn:t" xmlns:xs="http://www.w3.org/2001/XMLSchema"
	xmlns:soap="http://schemas.xmlsoap.org/wsdl/soap/"><types><xs:schema targetNamespace="urn:t" ${attributes}>${schema}</xs:schema></types>
	<message name="In"><part name="p" element="t:Do"/></message>
	<portType name="P"><operation name="Do"><input message="t:In"/><output message="t:In"/></operation></portType>
	<binding name="B" type="t:P"><soap:binding transport="http://schemas.xmlsoap.org/soap/http"/>
	<operation name="Do"><soap:operation soapAction="urn:do"/><input><soap:body use="literal"/></input><output><soap:body use="literal"/></output></operation></binding>
	<service name="S"><port name="Q" binding="t:B"><soap:address location="http://t.example/"/></port></service></definitions>`;
}

/** Makes the element `Do` with this content. */
export const content = (inside: string): string => `<xs:element name="Do"><xs:complexType>${inside}</xs:complexType></xs:element>`;

/** Reads a document. @returns its one operation */
export async function readOne(text: string, more: Partial<SchemaSource> = {}): Promise<Operation> {
	const { operations } = await readWith(importer, text, null, more);
	const [only] = operations;
	if (!only || operations.length > 1) throw new Error(`${operations.length} operations`);
	return only;
}

export async function toolFrom(name: string, key: string, baseUrl: string): Promise<ToolDraft> {
	const { operations } = await readFixture(name);
	const operation = operations.find((one) => one.key.endsWith(key));
	if (!operation) throw new Error(`No operation ${key} among ${operations.map((one) => one.key)}`);
	const api: Api = { ...apiAt(baseUrl), type: 'soap' };
	return importer.tool(operation, api);
}

export interface SoapServer {
	origin: string;
	/** Messages and HTTP headers as received. */
	requests: { body: string; headers: IncomingHttpHeaders }[];
	server: Server;
}

/** Starts a server that takes any path, by which the package finds the port. @param wsdl one document without imports to resolve */
export async function soapServer(t: TestContext, wsdl: string, services: IServices): Promise<SoapServer> {
	const requests: SoapServer['requests'] = [];
	const http = createServer((_request, response) => void response.writeHead(404).end());
	await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
	t.after(() => {
		http.closeAllConnections();
		http.close();
	});
	const server = await new Promise<Server>((resolve, reject) => {
		const made: Server = listen(http, { path: /^\//, services, xml: wsdl, callback: (error) => (error ? reject(error) : resolve(made)) });
		made.log = (type, data, request) => {
			if (type === 'received') requests.push({ body: String(data), headers: request?.headers ?? {} });
		};
	});
	// The server listens on TCP, so the address is not a pipe's name.
	const { port } = http.address() as AddressInfo;
	return { origin: `http://127.0.0.1:${port}`, requests, server };
}

export const jsonOf = (value: unknown): JsonObject => JSON.parse(JSON.stringify(value));
