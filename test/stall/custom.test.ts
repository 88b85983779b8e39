import { attackServer } from './attack.ts';
import { accessCases } from './cases/access-cases.ts';
import { customCases } from './cases/custom-cases.ts';

attackServer('no definition, custom object, role or token holds the server', [...customCases, ...accessCases]);
