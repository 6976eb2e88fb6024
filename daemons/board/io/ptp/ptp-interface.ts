/** The network interface that sound and its clock use. */
import { existsSync, readFileSync } from 'node:fs'
import { defaultInterface } from '../default-interface.ts'

/**
 * @param names as the installer set them, the more special one first; empty says nothing
 * @returns the first that is set, else the one with the default route; undefined where there is none
 */
export function chosenInterface(names: readonly string[], fallback = defaultInterface): string | undefined {
  return names.find((name) => name !== '') ?? fallback()
}

export function isInterfaceThere(name: string, folder = '/sys/class/net'): boolean {
  return existsSync(`${folder}/${name}`)
}

const NO_MAC = '00-00-00-00-00-00'

/** @returns as SDP writes it, `00-1D-C1-12-34-56`; zeros where it has none. @source RFC 7273, 4.4 */
export function macOf(name: string | undefined, folder = '/sys/class/net'): string {
  try {
    const text = readFileSync(`${folder}/${name}/address`, 'utf8').trim()
    if (/^([0-9a-f]{2}:){5}[0-9a-f]{2}$/.test(text)) return text.replaceAll(':', '-').toUpperCase()
  } catch {
    // An interface that is not there has no address: zeros name no other machine.
  }
  return NO_MAC
}

/**
 * A board may start before its network does: until there is an address it is looked for, then it stays.
 * @param names as of `chosenInterface`
 */
export function firstMac(
  names: readonly string[],
  fallback = defaultInterface,
  folder = '/sys/class/net',
): () => string {
  let mac = NO_MAC
  return () => {
    if (mac === NO_MAC) mac = macOf(chosenInterface(names, fallback), folder)
    return mac
  }
}
