/** Routes for anybody: the script that installs Plantroom, and the installers that it fetches. */
import { Type } from 'typebox'
import { type Ask, Reply, type Route, route } from '#kit/http/route.ts'
import { Fault } from '#kit/pure/fault.ts'
import { isVersion } from '#kit/pure/version.ts'
import type { Blobs, SignatureProof } from '../core/ports.ts'
import { installScript } from '../core/releases/install-script.ts'
import type { Releases } from '../core/releases/releases.ts'
import type { Transfers } from '../core/releases/transfers.ts'
import { sendFile } from './sending.ts'

export interface InstallRouteParts {
  releases: Releases
  /** Of their own: strangers do not keep installations from their updates. */
  transfers: Transfers
  files: Pick<Blobs, 'read'>
  isOffloaded: boolean
  shareOf(address: string): string | undefined
  /** Address that the script downloads from; empty: the one that it was asked under. */
  publicUrl: string
  isSecure: boolean
  /** @param text the signed record of an installer, base64 */
  proofOf(text: string): SignatureProof
}

export function installRoutes(parts: InstallRouteParts): Route[] {
  return [scriptRoute(parts), installerRoute(parts)]
}

function scriptRoute({ isSecure, proofOf, publicUrl, releases }: InstallRouteParts): Route {
  return route({
    method: 'GET',
    path: '/install.sh',
    who: 'anyone',
    summary: 'A shell script that downloads the latest installer, checks it, and installs it unattended',
    replyType: 'text/x-shellscript',
    handle({ headers }) {
      const latest = releases.latestInstaller()
      if (!latest) throw new Fault('unknown_release', 'There is no installer yet.')
      const url = publicUrl === '' ? urlOf(headers, isSecure) : publicUrl.replace(/\/$/, '')
      const { checksum, filename, signed, sizeBytes } = latest.installer
      const proof = signed === null ? undefined : proofOf(signed)
      const script = installScript({ url, version: latest.version, checksum, filename, sizeBytes, proof })
      return new Reply(200, Buffer.from(script), { 'content-type': 'text/x-shellscript; charset=utf-8' })
    },
  })
}

/** What stands in a shell script has to be an address and nothing else. */
const HOST = /^(?:[A-Za-z0-9](?:[A-Za-z0-9.-]{0,252})|\[[0-9A-Fa-f:.]{2,45}\])(?::\d{1,5})?$/

/** @throws Fault `bad_http` */
function urlOf({ host = '', 'x-forwarded-proto': proto }: Ask['headers'], isSecure: boolean): string {
  if (!HOST.test(host)) throw new Fault('bad_http', 'the Host header is no address that a script could download from')
  // A proxy that speaks TLS says so; a client that says it alone fetches nothing worse.
  return `${isSecure || proto === 'https' ? 'https' : 'http'}://${host}`
}

function installerRoute({ files, isOffloaded, releases, shareOf, transfers }: InstallRouteParts): Route {
  return route({
    method: 'GET',
    path: '/installers/:version',
    who: 'anyone',
    summary: 'The installer of a version, or the latest; Range and If-Range work',
    params: Type.Object({ version: Type.String({ maxLength: 64 }) }),
    replyType: 'application/octet-stream',
    partial: true,
    async handle(ask) {
      const { params, remoteAddress } = ask
      const version = params.version === 'latest' ? releases.latestInstaller()?.version : params.version
      if (version === undefined) throw new Fault('unknown_release', 'There is no installer yet.')
      if (!isVersion(version))
        throw new Fault('bad_version', 'The version is no semantic version, expected one such as 1.4.0.')
      const receiver = { share: shareOf(remoteAddress) }
      return await sendFile(
        { ...releases.requireInstaller(version), release: version },
        { ask, files, isOffloaded, transfers, receiver },
      )
    },
  })
}
