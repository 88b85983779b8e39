/**
 * Everything that expressions may call: CEL itself, and what kube-apiserver's library adds for texts, lists, sets,
 * times, amounts, versions, names, URLs, addresses and rights. Made when the first expression is compiled, and never changed after. What is not
 * here does not compile, so no rule ever holds because a function was missing.
 */
import { declareAuthorizer } from './authorizer-functions.ts';
import { declareConversions } from './conversions.ts';
import { declareFormats } from './format-functions.ts';
import { declareLists } from './list-functions.ts';
import { declareNetworks } from './network-functions.ts';
import { declareOperators } from './operators.ts';
import { Functions } from './overloads.ts';
import { declareQuantities } from './quantity-functions.ts';
import { declareSemver } from './semver-functions.ts';
import { declareTexts } from './text-functions.ts';
import { declareTimes } from './time-functions.ts';

let shared: Functions | undefined;

export function library(): Functions {
  if (!shared) {
    shared = new Functions();
    for (const declare of [
      declareOperators,
      declareConversions,
      declareTexts,
      declareLists,
      declareTimes,
      declareNetworks,
      declareQuantities,
      declareSemver,
      declareFormats,
      declareAuthorizer,
    ])
      declare(shared);
  }
  return shared;
}
