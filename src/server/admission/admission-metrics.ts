/** How long plugins and phases of admission take, measured as kube-apiserver measures it. */
import type { Metrics } from '../metrics/metrics.ts';
import type { AdmissionOperation } from './admission.ts';

type Phase = 'admit' | 'validate';
/** Told once for each time that a plugin or a phase was run. */
export type RecordStep = (isRejected: boolean, seconds: number) => void;

export type AdmissionObserver = {
  ofPlugin(name: string, operation: AdmissionOperation, type: Phase): RecordStep;
  ofPhase(operation: AdmissionOperation, type: Phase): RecordStep;
};

const BUCKETS = [0.005, 0.025, 0.1, 0.5, 1, 2.5];

/** Children are looked up once, by who will count with them. */
export function admissionMetrics(metrics: Metrics): AdmissionObserver {
  const help = (what: string) =>
    `Admission ${what} latency histogram in seconds, identified by name and broken out for each operation and API resource and type (validate or admit).`;
  const controller = metrics.histogram(
    'apiserver_admission_controller_admission_duration_seconds',
    help('controller'),
    BUCKETS,
    ['name', 'operation', 'rejected', 'type'],
  );
  const step = metrics.histogram(
    'apiserver_admission_step_admission_duration_seconds',
    'Admission sub-step latency histogram in seconds, broken out for each operation and API resource and step type (validate or admit).',
    BUCKETS,
    ['operation', 'rejected', 'type'],
  );
  return {
    ofPlugin: (name, operation, type) => {
      const passed = controller.labels({ name, operation, rejected: 'false', type });
      return (isRejected, seconds) => {
        if (isRejected) controller.observe({ name, operation, rejected: 'true', type }, seconds);
        else passed.observe(seconds);
      };
    },
    ofPhase: (operation, type) => {
      const passed = step.labels({ operation, rejected: 'false', type });
      return (isRejected, seconds) => {
        if (isRejected) step.observe({ operation, rejected: 'true', type }, seconds);
        else passed.observe(seconds);
      };
    },
  };
}
