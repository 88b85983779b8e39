/** Whether what readers share is made safe from them (`deepFreeze`): it costs a walk through every object, so it is for development. */
export function freezesByDefault(): boolean {
  return process.env.NODE_ENV !== 'production';
}
