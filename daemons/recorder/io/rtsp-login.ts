/** Signing in to a camera over RTSP: which of its challenges is answered, and when its password may be shown. */
import { createHash, randomBytes } from 'node:crypto'
import { Fault } from '#kit/pure/fault.ts'
import type { StreamPlace } from '../core/ports.ts'
import { authorizationOf, type Challenge, readChallenge } from '../wire/digest.ts'

/** The login of one session. */
export interface RtspLogin {
  /**
   * Takes a refusal in.
   * @param challenges headers `WWW-Authenticate`
   * @returns whether the request is to be sent again, signed
   * @throws Fault `camera_refused` where only Basic is asked for, and the password may not be shown
   */
  challenged(challenges: readonly string[]): boolean
  /** What was sent last was taken. */
  taken(): void
  /** The header `Authorization` of the next request; undefined if the camera has not asked for one. */
  header(method: string, uri: string): string | undefined
}

/**
 * @param hashed places that have taken the password hashed since the start: what asks for it in clear from then on may be
 *   another device in the place of the camera
 */
export function createRtspLogin(place: StreamPlace, hashed: WeakSet<StreamPlace>): RtspLogin {
  const { password = '', username } = place
  let challenge: Challenge | undefined
  let nonceUses = 0

  function checkShown(): void {
    const asks = 'The camera asks for the password in clear (Basic)'
    if (place.isHashed)
      throw new Fault(
        'camera_refused',
        `${asks}, and is not sent it so, as it was found on the network. Set Digest for RTSP in it, or add it by its RTSP address.`,
      )
    if (hashed.has(place))
      throw new Fault(
        'camera_refused',
        `${asks}, and took it hashed (Digest) before: it may be another device. If that was set in the camera, restart the recorder.`,
      )
  }

  return {
    challenged(challenges) {
      const asked = readChallenge(challenges)
      const isSecond = challenge !== undefined && !(asked?.scheme === 'digest' && asked.isStale)
      if (!asked || username === undefined || isSecond) return false
      if (asked.scheme === 'basic') checkShown()
      challenge = asked
      nonceUses = 0
      return true
    },
    taken() {
      if (challenge?.scheme === 'digest') hashed.add(place)
    },
    header(method, uri) {
      if (!challenge || username === undefined) return undefined
      nonceUses++
      const cnonce = randomBytes(8).toString('hex')
      return authorizationOf(challenge, { username, password, method, uri, cnonce, count: nonceUses }, hashText)
    },
  }
}

function hashText(algorithm: string, text: string): string {
  return createHash(algorithm).update(text).digest('hex')
}
