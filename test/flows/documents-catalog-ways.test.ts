// Tests rows 21 to 32 of the catalog, as files, as a zip and by URL.

import { testImports, useCatalog } from './documents-catalog.ts';

const catalog = useCatalog();

testImports(catalog, 'files');
testImports(catalog, 'a zip');
testImports(catalog, 'URL');
