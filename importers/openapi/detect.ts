// Estimates how likely a document is OpenAPI or Swagger.

const JSON_MARK = /"(?:openapi|swagger)"\s*:\s*"?\d/;
const YAML_MARK = /^["']?(?:openapi|swagger)["']?[ \t]*:[ \t]*["']?\d/m;

/** @returns 0 to 1; the whole text is searched, since the version field of a JSON document may be at its end */
export function detect(source: string): number {
	const isJson = /^\s*\{/.test(source);
	if ((isJson ? JSON_MARK : YAML_MARK).test(source)) return 1;
	return !isJson && /^[\s{]*["']?(?:openapi|swagger)\b/.test(source) ? 0.5 : 0;
}
