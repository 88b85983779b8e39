/** For those in the client who call others back. */
export { tellSafely } from '../../api/index.ts';
