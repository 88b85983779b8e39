/** An apply that comes second, and is tried again on what is there by then, still asks for what its body says and no more. */
import { expect, it } from 'vitest';
import { startTestServer } from '../../src/testing/index.ts';

const services = '/api/v1/namespaces/default/services';
const managers = ['one', 'two', 'three', 'four'];

it('several who apply the same new object at once all succeed, and own the same', async () => {
  await using server = await startTestServer();
  const { client } = server;
  for (const name of ['a', 'b', 'c', 'd', 'e']) {
    // The server gives an address, ports and defaults: none of it may be taken for a wish when it is tried again.
    const spec = { selector: { app: name }, ports: [{ port: 80, protocol: 'TCP' }] };
    const body = JSON.stringify({ apiVersion: 'v1', kind: 'Service', metadata: { name }, spec });
    const answers = await Promise.all(
      managers.map((fieldManager) =>
        client.ask('PATCH', `${services}/${name}`, {
          query: { fieldManager },
          headers: { 'content-type': 'application/apply-patch+yaml' },
          body,
        }),
      ),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 200, 201]);
    const { managedFields = [] } = (await client.get(`${services}/${name}`)).metadata;
    expect(managedFields.map(({ manager }) => manager).sort()).toEqual([...managers].sort());
    for (const { fieldsV1 } of managedFields) expect(fieldsV1).toEqual(managedFields[0]!.fieldsV1);
  }
});
