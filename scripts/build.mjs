/** `npm run build`: dist/, when it is stale. */
import { ensureBuilt } from './setup.mjs';

ensureBuilt();
