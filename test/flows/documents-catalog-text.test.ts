// Tests rows 21 to 32 of the catalog, as text: descriptions of OpenAPI and GraphQL that were written to harm.

import { testImports, useCatalog } from './documents-catalog.ts';

testImports(useCatalog(), 'text', ['openapi', 'graphql']);
