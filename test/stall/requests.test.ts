import { attackServer } from './attack.ts';
import { headerCases, otherHeaderCases } from './cases/header-cases.ts';
import { otherQueryCases, queryCases } from './cases/query-cases.ts';
import { makeMany, pathCases, routeCases, selectorCases } from './cases/selector-cases.ts';
import { wireCases } from './cases/wire-cases.ts';

attackServer(
  'no query, header, path, selector or frame holds the server',
  [
    ...queryCases,
    ...otherQueryCases,
    ...headerCases,
    ...otherHeaderCases,
    ...pathCases,
    ...routeCases,
    ...selectorCases,
    ...wireCases,
  ],
  makeMany,
);
