// How sure it is that a document is OpenAPI or Swagger.

const JSON_MARK = /"(?:openapi|swagger)"\s*:\s*"?\d/;
const YAML_MARK = /^["']?(?:openapi|swagger)["']?[ \t]*:[ \t]*["']?\d/m;

/** 0–1. The marks of a JSON document may stand at its end, so the whole text is looked at. */
export function detect(source: string): number {
	const isJson = /^\s*\{/.test(source);
	if ((isJson ? JSON_MARK : YAML_MARK).test(source)) return 1;
	return !isJson && /^[\s{]*["']?(?:openapi|swagger)\b/.test(source) ? 0.5 : 0;
}
