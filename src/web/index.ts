/** Serving the page: its files with their headers, and who may have what is behind it. */
export { type PageFile, pageFile, pageHeaders } from './page-files.ts';
export { COOKIE_ATTRIBUTES, cookieIn, PageKeys } from './page-keys.ts';
export { refusalOfPage } from './page-origin.ts';
export { type PageRead, pageRead } from './page-reads.ts';
export { SealedSessions } from './sealed-sessions.ts';
