/** The interface through which the machine reaches the rest of the world. */
import { readFileSync } from 'node:fs'
import { interfacesNow } from '#kit/net/own-addresses.ts'

/** The one with the default route, else the first with an address that others can reach; undefined where there is none. */
export function defaultInterface(routes = '/proc/net/route'): string | undefined {
  return interfaceOfRoutes(textOf(routes)) ?? firstInterface()
}

/**
 * The interface of the default route with the lowest metric.
 * @param text /proc/net/route: name, destination, gateway, flags, two counts, metric, mask, ... in columns
 * @source proc(5); linux/net/ipv4/fib_trie.c, fib_route_seq_show
 */
export function interfaceOfRoutes(text: string): string | undefined {
  const rows = text
    .split('\n')
    .slice(1)
    .map((line) => line.trim().split(/\s+/))
  const defaults = rows.filter(([, destination, , , , , , mask]) => destination === '00000000' && mask === '00000000')
  defaults.sort((one, other) => Number(one[6]) - Number(other[6]))
  return defaults[0]?.[0]
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return '' // a kernel without /proc: the first interface will do
  }
}

function firstInterface(): string | undefined {
  const names = Object.entries(interfacesNow())
  return names.find(([, addresses]) => addresses?.some(({ internal }) => !internal))?.[0]
}
