/** AlwaysAdmit and AlwaysDeny, as old as admission itself: the one does nothing, the other refuses every write. */
import { type AdmissionPlugin, refuse } from '../admission.ts';

export const alwaysAdmit: AdmissionPlugin = { name: 'AlwaysAdmit' };

export const alwaysDeny: AdmissionPlugin = {
  name: 'AlwaysDeny',
  admit: (a) => {
    throw refuse(a, 'admission control is denying all modifications');
  },
  validate: (a) => {
    throw refuse(a, 'admission control is denying all modifications');
  },
};
