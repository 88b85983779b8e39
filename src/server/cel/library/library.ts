/**
 * Everything that expressions may call: CEL itself, and what the reference server's library adds for texts, lists, sets,
 * times, amounts, URLs and addresses. Made when the first expression is compiled, and never changed after. What is not
 * here does not compile, so no rule ever holds because a function was missing.
 */
import { declareConversions } from './conversions.ts';
import { declareLists } from './list-functions.ts';
import { declareNetworks } from './network-functions.ts';
import { declareOperators } from './operators.ts';
import { Functions } from './overloads.ts';
import { declareQuantities } from './quantity-functions.ts';
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
    ])
      declare(shared);
  }
  return shared;
}
