/** What the metrics tell of who was let in. */
import { expect, it } from 'vitest';
import { startTestServer } from '../../../../src/testing/index.ts';

it('who was let in is counted, under the names of kube-apiserver', async () => {
  await using server = await startTestServer();
  const counts = async () => {
    const { body } = await server.client.ask('GET', '/metrics');
    const lines = body.toString().split('\n');
    return (series: string) =>
      Number(
        lines
          .find((line) => line.startsWith(`${series} `))
          ?.split(' ')
          .at(-1) ?? 0,
      );
  };
  const before = await counts();
  const pods = '/api/v1/namespaces/default/pods';
  expect((await server.connect({ token: 'nobody' }).ask('GET', pods)).status).toBe(401);
  expect((await server.connect({ token: '' }).ask('GET', pods)).status).toBe(403);
  expect((await server.client.ask('GET', pods)).status).toBe(200);
  const after = await counts();
  const more = (series: string) => after(series) - before(series);
  expect(more('authentication_attempts{result="error"}')).toBe(1);
  expect(more('authentication_duration_seconds_count{result="error"}')).toBe(1);
  expect(more('authorization_attempts_total{result="no-opinion"}')).toBe(1);
  expect(more('authorization_duration_seconds_count{result="no-opinion"}')).toBe(1);
  expect(more('authentication_attempts{result="success"}')).toBeGreaterThanOrEqual(3); // and whom the server asks itself
  expect(more('authorization_attempts_total{result="allowed"}')).toBeGreaterThanOrEqual(2);
  expect(more('authentication_duration_seconds_bucket{result="success",le="+Inf"}')).toBe(
    more('authentication_attempts{result="success"}'),
  );
});
