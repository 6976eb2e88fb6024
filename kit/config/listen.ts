/** The address a daemon listens on, as text: HOST:PORT. */
import { Fault } from '#kit/fault.ts'

/** Where a server listens. `port` 0 takes a free one. */
export interface ListenAddress {
  /** IPv4 or IPv6 address without brackets, or a host name. */
  host: string
  port: number
}

/** Same shape for every daemon; brackets keep the colons of IPv6 apart from the one before the port. */
const FORM = /^(?:\[([0-9A-Fa-f:.%\w]+)\]|([A-Za-z0-9._-]+)):(\d{1,5})$/

/**
 * Reads `127.0.0.1:3132`, `[::]:3132` or `localhost:0`.
 * @throws Fault `bad_listen` with what was seen and what is expected
 */
export function parseListen(text: string): ListenAddress {
  const match = FORM.exec(text)
  const host = match?.[1] ?? match?.[2]
  const port = Number(match?.[3])
  if (host === undefined || port > 65_535)
    throw new Fault(
      'bad_listen',
      `${JSON.stringify(text)} is no listen address: expected HOST:PORT such as 127.0.0.1:3132 or [::]:3132, port 0 to 65535`,
    )
  return { host, port }
}

/** The URL of a server that listens there; wildcard addresses read as loopback, so that the URL can be opened. */
export function urlOfListen({ host, port }: ListenAddress, scheme: 'http' | 'https' = 'http'): string {
  const reachable = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host
  return `${scheme}://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`
}
