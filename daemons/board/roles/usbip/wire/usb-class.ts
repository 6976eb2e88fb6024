/** What kind of device it is, by the class that it or its first interface says. */

/** @source USB-IF, Defined Class Codes */
const NAMES: Readonly<Record<number, string>> = {
  1: 'audio',
  2: 'communications',
  3: 'input',
  5: 'physical',
  6: 'camera',
  7: 'printer',
  8: 'storage',
  9: 'hub',
  10: 'communications data',
  11: 'smart card reader',
  13: 'content security',
  14: 'video',
  15: 'health',
  16: 'audio and video',
  17: 'billboard',
  18: 'USB-C bridge',
  220: 'diagnostic',
  224: 'wireless',
  239: 'composite',
  254: 'application specific',
  255: 'vendor specific',
}

/**
 * @param deviceClass 0 where each interface has its own
 * @param interfaceClass of the first interface, undefined where there is none
 */
export function className(deviceClass: number, interfaceClass: number | undefined): string | null {
  return NAMES[deviceClass || (interfaceClass ?? 0)] ?? null
}
