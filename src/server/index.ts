/** The API server: LIST and WATCH from a watch cache on top of a store. Nothing stands in this room yet. */
export {};
