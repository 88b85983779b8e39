import { attackServer } from './attack.ts';
import { kindCases, subresourceCases } from './cases/kind-cases.ts';

attackServer('no list, map or text of a built-in kind holds the server', [
  ...kindCases(process.env.STALL_SWEEP === '1'),
  ...subresourceCases(),
]);
