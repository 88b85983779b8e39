/** The server under test without any admission plugin: what a write costs that nobody is asked about. */
import { defaultPlugins } from '../../../src/server/admission/plugin-names.ts';
import { startServer } from '../../../src/server/index.ts';
import { obey, type Ready } from '../server-control.ts';

const disableAdmissionPlugins = [...defaultPlugins];
const server = await startServer({ dataDir: process.argv[2]!, securePort: 0, disableAdmissionPlugins });
obey(async () => {
  await server.close();
  process.disconnect();
});
process.send!({ port: Number(new URL(server.url).port) } satisfies Ready);
