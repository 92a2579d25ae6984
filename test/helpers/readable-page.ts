// Whether a page is readable for everyone: by axe, and without a sideways scroll. With SHOTS=folder it is also saved there as a picture.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import axe from 'axe-core';
import type { Page } from 'playwright-core';

/** A phone and a wide screen, in light and dark. The context must bypass the page's policy, which admits no script of axe. */
export const SCREENS = [
	['phone-light', { viewport: { width: 360, height: 740 }, colorScheme: 'light' }],
	['wide-dark', { viewport: { width: 1280, height: 900 }, colorScheme: 'dark' }],
] as const;

/** @param name of the page at this step, and of its picture */
export async function assertReadable(page: Page, name: string): Promise<void> {
	const folder = process.env['SHOTS'];
	if (folder) await page.screenshot({ path: join(folder, `${name}.png`), fullPage: true });
	await page.evaluate(axe.source);
	// The type is that of axe's results.
	const { violations } = (await page.evaluate('axe.run()')) as axe.AxeResults;
	const found = violations.map(({ id, nodes }) => `${name}: ${id}: ${nodes.map(({ html }) => html).join(' ')}`);
	assert.deepEqual(found, []);
	const [wide, room] = (await page.evaluate('[document.documentElement.scrollWidth, innerWidth]')) as [number, number];
	assert.ok(wide <= room, `${name} is ${wide} wide`);
}
