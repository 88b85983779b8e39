/** Work queue, controllers, manager and leader election. Nothing stands in this room yet. */
export {};
