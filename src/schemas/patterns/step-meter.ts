/** Told of steps as they are done; it may end the work by throwing. */
export type StepMeter = { readonly chargeSteps: (steps: number) => void };

export const noMeter: StepMeter = { chargeSteps: () => {} };
