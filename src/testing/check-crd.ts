/**
 * Whether a definition of a custom kind is a good one, without a server: what `longwatch serve` would refuse is refused here in
 * the same words, in the milliseconds of a unit test.
 *
 *     await checkCrd(defineCrd({ group: 'ex.io', version: 'v1', kind: 'Widget', spec: widgetSpec }));
 */
import { isStatusError, type KubeObject } from '../api/index.ts';
import { type InstallableCrd, readCrds } from '../client/crd.ts';
import { ApiError } from '../client/index.ts';
import { checkDefinition } from '../server/index.ts';

/** Throws an ApiError, as `installCrd` would. */
export async function checkCrd(definition: InstallableCrd): Promise<void> {
  for (const crd of await readCrds(definition)) {
    await checkDefinition(crd as unknown as KubeObject).catch((err: unknown) => {
      throw isStatusError(err) ? new ApiError(err.status, `check of ${crd.metadata.name}`, { cause: err }) : err;
    });
  }
}
