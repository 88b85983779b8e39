/** The client: watch, reflector and informers against any Kubernetes cluster. Nothing stands in this room yet. */
export {};
