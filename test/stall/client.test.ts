import { attackClient } from './attack.ts';
import { clientCases } from './cases/client-cases.ts';

attackClient('no answer of a server holds the client', clientCases);
