import { expect, it } from 'vitest';
import { RequestNotice } from './abort-notice.ts';

it('a notice tells each listener once, with the reason of the first abort', () => {
  const notice = new RequestNotice();
  const heard: unknown[] = [];
  const removed = () => heard.push('removed');
  notice.addEventListener('abort', () => heard.push(notice.reason));
  notice.addEventListener('abort', removed);
  notice.removeEventListener('abort', removed);
  notice.throwIfAborted();
  notice.abort('gone');
  notice.abort('again');
  notice.addEventListener('abort', () => heard.push('late'));
  expect(heard).toEqual(['gone']);
  expect(notice).toMatchObject({ aborted: true, reason: 'gone' });
  expect(() => notice.throwIfAborted()).toThrow('gone');
});
