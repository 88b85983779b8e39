import { afterAll } from 'vitest';
import { type RawHook, startRawHook } from '../../src/server/outbound/raw-hook.testing.ts';
import { attackServer } from './attack.ts';
import { useHook, webhookCases } from './cases/webhook-cases.ts';

let hook: RawHook | undefined;

attackServer(
  'no answer of a webhook holds the server',
  webhookCases(() => hook!),
  async (target) => {
    hook = await startRawHook(() => {});
    await useHook(target, hook);
  },
);
afterAll(() => hook?.close());
