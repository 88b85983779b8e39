/**
 * One judgement of one object: the faults that are found, and how much work and text it may still take.
 *
 * Checks charge what they do; a judgement that takes more steps than `LIMIT_STEPS`, or whose faults are longer than
 * `LIMIT_FAULT_CHARACTERS`, ends there with one more fault that says so. Whether two values are equal is worked out once
 * for each part of the object, however many checks want to know.
 */
import type { FieldError, JsonValue } from '../../api/index.ts';
import type { StepMeter } from '../patterns/step-meter.ts';
import { asObject } from './structural.ts';

/** Some tens of milliseconds: several times what the largest object takes whose schema does not multiply. */
const LIMIT_STEPS = 3_000_000;
const LIMIT_FAULT_CHARACTERS = 1_000_000;
const CHARACTERS_PER_STEP = 16;
/** Making a fault, or trying a part of a combination, takes as long as so many steps. */
const FAULT_STEPS = 40;
const TRIAL_STEPS = 5;

export const OUT_OF_BUDGET =
  'validation failed due to running out of cost budget, no further validation rules will be run';

/** Ends a judgement from within; whoever began it catches it. */
export class ValidationEnd extends Error {
  override readonly name = 'ValidationEnd';
}

export class Validation implements StepMeter {
  readonly faults: FieldError[] = [];
  readonly #whole: Validation;
  #same: Map<object, boolean> | undefined;
  #steps = 0;
  #characters = 0;

  /** `whole`: the judgement that this one is a trial within. */
  constructor(whole?: Validation) {
    this.#whole = whole ?? this;
  }

  get length(): number {
    return this.faults.length;
  }

  push(fault: FieldError): void {
    this.faults.push(fault);
    const characters = fault.message.length + fault.field.length;
    this.chargeSteps(FAULT_STEPS + characters / CHARACTERS_PER_STEP);
    if (this.#whole !== this) return;
    this.#characters += characters;
    if (this.#characters > LIMIT_FAULT_CHARACTERS) this.#end('too many errors, further ones are left out');
  }

  pushAll(faults: readonly FieldError[]): void {
    for (const fault of faults) this.push(fault);
  }

  chargeSteps(steps: number): void {
    const whole = this.#whole;
    whole.#steps += steps;
    if (whole.#steps > LIMIT_STEPS) whole.#end(OUT_OF_BUDGET);
  }

  /** What a part of a combination finds, which may not count. */
  trial(check: (trial: Validation) => void): readonly FieldError[] {
    this.chargeSteps(TRIAL_STEPS);
    const trial = new Validation(this.#whole);
    check(trial);
    return trial.faults;
  }

  /** Whether a part is what it was. The same part is always asked about with the same old one. */
  isSame(value: JsonValue | undefined, old: JsonValue | undefined): boolean {
    if (value === old) return true;
    if (typeof value !== 'object' || typeof old !== 'object' || value === null || old === null) return false;
    const whole = this.#whole;
    whole.#same ??= new Map();
    const known = whole.#same.get(value);
    if (known !== undefined) return known;
    const isSame = this.#compare(value, old);
    whole.#same.set(value, isSame);
    return isSame;
  }

  #compare(value: JsonValue, old: JsonValue): boolean {
    if (Array.isArray(value)) {
      this.chargeSteps(value.length);
      return Array.isArray(old) && value.length === old.length && value.every((item, i) => this.isSame(item, old[i]));
    }
    const [now, before] = [asObject(value), asObject(old)];
    if (!now || !before) return false;
    const names = Object.keys(now);
    this.chargeSteps(names.length);
    if (names.length !== Object.keys(before).length) return false;
    return names.every((name) => Object.hasOwn(before, name) && this.isSame(now[name], before[name]));
  }

  #end(why: string): never {
    this.faults.push({ reason: 'FieldValueInvalid', field: '<nil>', message: `Invalid value: ${why}` });
    throw new ValidationEnd(why);
  }
}
