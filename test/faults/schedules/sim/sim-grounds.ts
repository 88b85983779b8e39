/** A simulated world as the place of a fault schedule. Its clients have tokens that the server may stop taking. */
import { type Credentials, KubeClient } from '../../../../src/client/index.ts';
import type { Grounds } from '../fault-grounds.ts';
import { SimClock } from './sim-clock.ts';
import { mount, SimDisk } from './sim-files.ts';
import { SimServer } from './sim-server.ts';
import { announceWorld } from './sim-undici.ts';

/** What nobody can see but an audit is found by the next, and the next comes within this, and some minutes. */
const USUAL_AUDIT_MS = 3_600_000;
/** An hour with nothing in it is most of the work of a schedule, so only some wait that long. */
const AUDIT_MS = 600_000;
const USUAL_AUDITS_ONE_IN = 16;
const SETTLE_FACTOR = 1.5;
const EPOCH_MS = 1_700_000_000_000;
/** How long somebody may take to write a new token where clients find it. */
const NEW_TOKEN_MS = 40_000;

export type SimGrounds = Grounds & { readonly clock: SimClock; readonly wallNow: () => number };

export function simGrounds(random: () => number, seed: number): SimGrounds {
  const clock = new SimClock();
  const disk = new SimDisk(clock, random);
  mount(disk);
  const isUsual = seed % USUAL_AUDITS_ONE_IN === 0;
  const settleMs = (isUsual ? USUAL_AUDIT_MS : AUDIT_MS) * SETTLE_FACTOR;
  let wallOffsetMs = 0;
  const server = new SimServer(clock, random);
  const origin = 'http://world';
  const announced = announceWorld(origin, server.line);
  let token = { text: server.token, from: 0 };
  let last = token;
  const readToken = () => (clock.now() >= token.from ? token.text : last.text);
  const credentials = (): Credentials => {
    let held = readToken();
    return {
      current: async () => ({ authorization: `Bearer ${held}` }),
      refused: () => {
        held = readToken();
        return true;
      },
    };
  };
  return {
    ...{ server, line: server.line, clock, random, settleMs, waitFactor: 2_000, patience: 15 },
    ...(!isUsual && { auditMs: AUDIT_MS }),
    wallNow: () => EPOCH_MS + clock.now() + wallOffsetMs,
    truth: {
      objects(label) {
        const [name = '', value] = (label ?? '').split('=');
        const all = server.objects().filter(({ metadata }) => !label || metadata.labels?.[name] === value);
        return new Map(
          all.map(({ metadata }) => [
            `${metadata.namespace}/${metadata.name}`,
            `${metadata.uid} ${metadata.resourceVersion}`,
          ]),
        );
      },
      awake: () => clock.awake(),
      leaseSeenAt: (userAgent) => server.line.leaseSeenAt.get(userAgent),
      isSetBackVisible: server.isSetBackVisible,
      sendsBookmarks: server.traits.sendsBookmarks,
      flip: (isCut) => server.flip(isCut),
      settle: () => server.settle(),
      rotateToken: () => {
        server.rotateToken();
        last = { text: readToken(), from: 0 };
        token = { text: server.token, from: clock.now() + random() * NEW_TOKEN_MS };
      },
      suspend: (ms) => clock.suspend(ms),
      setWallClock: (ms) => {
        wallOffsetMs += ms;
      },
      disk,
    },
    async connect(userAgent, options) {
      const access = { server: new URL(origin), namespace: 'default', credentials: credentials() };
      return new KubeClient(access, { clock, random, userAgent, ...options });
    },
    pause: (looks) => clock.sleep(Math.min(100 * 1.1 ** looks, 20_000)),
    async [Symbol.asyncDispose]() {
      announced[Symbol.dispose]();
    },
  };
}
