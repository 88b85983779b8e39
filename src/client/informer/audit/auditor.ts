/**
 * Holds an informer's store against the server, when it is asked to or from time to time.
 *
 * A source that does not agree is fetched anew. A list that fails says nothing about the store: the caller gets the
 * error, and in the background the next round tries again.
 */
import { isApiError, isTransportError } from '../../errors.ts';
import type { Resource } from '../../objects/define-resource.ts';
import type { AnyObject } from '../../objects/objects.ts';
import type { SelectOptions } from '../../resources/options.ts';
import type { Transport } from '../../transport/transport.ts';
import type { Listeners } from '../handling/listeners.ts';
import type { Notifier } from '../handling/notifier.ts';
import type { InformerStore } from '../informer-store.ts';
import type { Source } from '../source.ts';
import { type AuditReport, auditSource } from './audit.ts';

type AuditorContext<T extends AnyObject> = {
  readonly transport: Transport;
  readonly resource: Resource<T>;
  readonly selection: SelectOptions;
  readonly sources: readonly Source<T>[];
  readonly store: InformerStore<T>;
  readonly listeners: Listeners<T>;
  /** Notifies of every change of a version. */
  readonly notifier: Notifier;
  readonly synced: (signal: AbortSignal) => Promise<void>;
  readonly report: (error: unknown) => void;
  /** Fires when the informer is closed. */
  readonly stop: AbortSignal;
};

export class Auditor<T extends AnyObject> {
  readonly #context: AuditorContext<T>;
  #audits = 0;
  #divergences = 0;

  constructor(context: AuditorContext<T>) {
    this.#context = context;
  }

  get counts(): { readonly audits: number; readonly divergences: number } {
    return { audits: this.#audits, divergences: this.#divergences };
  }

  async audit(caller?: AbortSignal): Promise<AuditReport> {
    const { transport, resource, selection, sources, store, listeners, notifier, stop } = this.#context;
    const context = {
      ...{ transport, selection, notifier },
      objects: (scope: string) => store.list(scope === '*' ? undefined : scope),
      follow: (onChange: (key: string) => void) => listeners.follow(onChange),
    };
    const signal = caller ? AbortSignal.any([caller, stop]) : stop;
    const reports: AuditReport[] = [];
    for (const source of sources) {
      const report = await auditSource(source, resource, context, signal);
      reports.push(report);
      this.#divergences += report.divergent.length;
      if (report.divergent.length > 0) source.reflector.renew();
      else if (report.isLate) source.reflector.renew('late');
    }
    this.#audits++;
    return {
      objects: reports.reduce((sum, { objects }) => sum + objects, 0),
      divergent: reports.flatMap(({ divergent }) => divergent),
      isLate: reports.some(({ isLate }) => isLate),
    };
  }

  /** Again and again, until the informer is closed; 0 is never. */
  async run(everyMs: number): Promise<void> {
    const { transport, resource, synced, report, stop } = this.#context;
    const { clock, random } = transport;
    while (everyMs > 0 && !stop.aborted) {
      try {
        await clock.sleep(everyMs * (0.9 + 0.2 * random()), stop); // not all at once
        await synced(stop);
        // A store that agrees and is late is no error: on a quiet kind, without bookmarks, nothing can come forward.
        const { divergent } = await this.audit();
        if (divergent.length > 0) report(divergence(resource.plural, divergent));
      } catch (error) {
        if (!stop.aborted && !isApiError(error) && !isTransportError(error)) report(error);
      }
    }
  }
}

function divergence(plural: string, keys: readonly string[]): Error {
  const found = `${keys.length} objects differ, such as "${keys[0]}"`;
  return new Error(`Cannot trust the store of ${plural}: ${found}; it is fetched anew`);
}
