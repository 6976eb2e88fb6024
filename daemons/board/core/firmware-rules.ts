/** Which images a board takes. */
import { Fault } from '#kit/fault.ts'
import type { Manifest } from '../wire/firmware-image.ts'
import { compareVersions } from '../wire/version-number.ts'

/** What an image is held to. */
export interface FirmwareRules {
  /** Kind of board this is. */
  compatible: string
  /** Oldest version that is taken. */
  floor: string
}

/** The later of two versions. */
export function laterOf(one: string, other: string): string {
  return compareVersions(one, other) < 0 ? other : one
}

/** @throws Fault `image_wrong_board`, `image_too_old` */
export function refuseUnfit({ compatible, version }: Manifest, rules: FirmwareRules): void {
  if (compatible !== rules.compatible)
    throw new Fault('image_wrong_board', `the image is for ${compatible}, this board is ${rules.compatible}`)
  if (compareVersions(version, rules.floor) < 0)
    throw new Fault('image_too_old', `the image has version ${version}, this board takes ${rules.floor} and later`)
}

/**
 * Of an image whose length is known before its payload came.
 * @param saidBytes what the client says it sends, undefined where it does not say
 * @throws Fault `image_length`
 */
export function refuseOtherLength(saidBytes: number | undefined, wholeBytes: number): void {
  if (saidBytes !== undefined && saidBytes !== wholeBytes)
    throw new Fault('image_length', `the image has ${wholeBytes} bytes by its manifest, ${saidBytes} are being sent`)
}
