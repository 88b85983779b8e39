import { expect, it } from 'vitest';
import { type Frames, KeptFrames } from './kept-frames.ts';

it('KeptFrames holds the last frames that fit, whatever else there was before', () => {
  const kept = new KeptFrames(1000);
  const events: Frames[] = Array.from({ length: 5000 }, () => new Map());
  for (const [i, frames] of events.entries()) {
    kept.keep(frames, 'json', Buffer.alloc(80));
    if (i % 2 === 0) kept.keep(frames, 'protobuf', Buffer.alloc(40));
  }
  const held = events.map((frames) => [...frames.keys()].join(' '));
  expect(held.findIndex((ids) => ids !== '')).toBe(4990);
  expect(held.slice(4990)).toEqual(Array.from({ length: 5 }, () => ['json protobuf', 'json']).flat());
});

it('KeptFrames does not keep what is too large for all of it', () => {
  const kept = new KeptFrames(100);
  const frames: Frames = new Map();
  kept.keep(frames, 'json', Buffer.alloc(101));
  expect(frames.size).toBe(0);
});
