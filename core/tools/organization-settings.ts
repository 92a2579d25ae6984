// The settings of an organization, as calls read them.

import type { OrganizationSettings } from '../contract/nouns.ts';
import { deepFreeze } from '../kit/json.ts';
import type { Services } from './call-parts.ts';

/** Time for which an organization's settings are cached: every change is seen within a second. */
const SETTINGS_MS = 1000;

export const settingsOf = ({ memo, store }: Pick<Services, 'memo' | 'store'>, organizationId: string): Promise<OrganizationSettings> =>
	memo.get(organizationId, 'settings', SETTINGS_MS, async () => deepFreeze(await store.organizations.settings(organizationId)));
