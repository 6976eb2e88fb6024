/** The keys whose images a board takes, read anew for each image: a key that was added or removed counts at once. */
import { readPublicKeys, signerOf } from '#kit/auth/signing-key.ts'
import { Fault } from '#kit/fault.ts'
import type { FirmwareKeys } from '../core/firmware-ports.ts'

/** @param places files and folders of PEM files */
export function createFirmwareKeys(places: readonly string[]): FirmwareKeys {
  return {
    async load() {
      const keys = await readPublicKeys(places).catch((cause: Fault) => {
        throw new Fault('ota_not_set_up', `this board cannot tell whose image it is: ${cause.message}`, { cause })
      })
      if (keys.length === 0)
        throw new Fault(
          'ota_not_set_up',
          `this board takes no image, as it knows no key: ${places.join(', ') || 'ota.keys'} holds none`,
        )
      return (signed, signature) => signerOf(keys, signed, signature) !== undefined
    },
  }
}
