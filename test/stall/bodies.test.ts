import { attackServer } from './attack.ts';
import { bodyCases } from './cases/body-cases.ts';
import { patchCases } from './cases/patch-cases.ts';
import { protobufCases } from './cases/protobuf-cases.ts';

attackServer('no body and no patch holds the server', [...bodyCases, ...protobufCases, ...patchCases]);
