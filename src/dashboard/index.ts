/** One web page that shows why a watch broke. Nothing stands in this room yet. */
export {};
