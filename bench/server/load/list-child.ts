/** Lists again and again on several connections until it is ended: a load generator of its own, beside whoever measures. */
import { Client, type Endpoint } from './server-client.ts';

const { endpoint, path, width } = JSON.parse(process.argv[2]!) as { endpoint: Endpoint; path: string; width: number };
process.on('disconnect', () => process.exit(0));
const clients = await Promise.all(Array.from({ length: width }, () => Client.open(endpoint)));
process.send!('listing');
for (const client of clients) void listForEver(client);

async function listForEver(client: Client): Promise<never> {
  for (;;) await client.must('GET', path);
}
