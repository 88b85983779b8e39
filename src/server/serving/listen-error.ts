/** Why a port could not be had, in one sentence that says what to do. */

/** `flags`: which of them decide about the address and the port. */
export function listenError(err: unknown, address: string, port: number | string, flags: string): Error {
  const { code, message } = err as NodeJS.ErrnoException;
  return new Error(`Cannot listen on ${address} port ${port}: ${why(code, message, port, flags)}`, { cause: err });
}

function why(code: string | undefined, message: string, port: number | string, flags: string): string {
  switch (code) {
    case 'EADDRINUSE':
      return `another process has it; stop that one, or choose another with ${flags} (port 0 picks a free one)`;
    case 'EACCES':
    case 'EPERM':
      return `user ${process.getuid?.()} may not have port ${port}; choose one from 1024 up with ${flags}, or grant the right (CAP_NET_BIND_SERVICE)`;
    case 'EADDRNOTAVAIL':
      return `this machine does not have that address; choose one it has, or 0.0.0.0 for all, with ${flags}`;
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `that name cannot be found; give an address with ${flags}`;
    default:
      return message;
  }
}
