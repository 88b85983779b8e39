/**
 * Until when certificates are valid, so that somebody is told before they are not. Read at the scrape from what is served
 * then: a certificate that was renewed shows with the next one.
 */
import { X509Certificate } from 'node:crypto';
import type { Metrics } from './metrics.ts';

/** `certificates`: in PEM, by what each is for. */
export function addCertificateMetrics(metrics: Metrics, certificates: () => Readonly<Record<string, string>>): void {
  metrics.collected({
    name: 'longwatch_certificate_expiry_timestamp_seconds',
    help: 'The unix time until which a certificate of the server is valid.',
    type: 'gauge',
    *samples() {
      for (const [certificate, pem] of Object.entries(certificates()))
        yield { labels: { certificate }, value: Date.parse(new X509Certificate(pem).validTo) / 1000 };
    },
  });
}
