/** Gets what cameras answer over HTTP interfaces of their own: with bounds, and signed in by HTTP Digest alone. */
import type { CameraWeb } from '../core/outputs/dahua-driver.ts'
import { readChallenge } from '../wire/digest.ts'
import { type ClientParts, exchangeOnce, signedBy } from './onvif-client.ts'

export function createCameraWeb(parts: ClientParts): CameraWeb {
  return {
    async get(address, login, mayKnow) {
      const url = new URL(address)
      const first = await exchangeOnce(parts, url, { method: 'GET', headers: {} })
      const challenge = first.status === 401 ? readChallenge(first.challenges) : undefined
      // Never Basic, which shows the password to the network.
      if (challenge?.scheme !== 'digest' || !mayKnow(challenge.realm)) return { ...first, isSigned: false }
      // Once: cameras lock a user out after some wrong passwords.
      const authorization = signedBy(challenge, login, { method: 'GET', url, count: 1 })
      return { ...(await exchangeOnce(parts, url, { method: 'GET', headers: { authorization } })), isSigned: true }
    },
  }
}
