/**
 * The store was set back, to a backup perhaps: what was shown is not its history any more. To a client that is the same
 * as history that is compacted; whoever wants to know why it was told so can tell the two apart.
 */
import { StoreError } from '../../store/index.ts';

export class SetBackError extends StoreError {
  constructor() {
    super('Compacted', 'Cannot go on: the store was set back');
  }
}
