/**
 * What a camera says it sends: the media of a session description.
 * @source RFC 8866 (SDP), RFC 2326 appendix C (control), RFC 6184 8.2 and RFC 7798 7.1 (parameters of H.264 and H.265)
 */
import { bytesOfBase64 } from '#kit/pure/bytes.ts'
import type { VideoCodec } from './pictures.ts'

/** One medium of a description. */
export interface SdpMedia {
  /** `video`, `audio`, `application`. */
  kind: string
  payloadType: number
  /** Upper case, as `H264`; empty where the payload type is fixed by RFC 3551. */
  encoding: string
  clockRate: number
  /** Of sound; 1 unless said. */
  channels: number
  /** Parameters of the format; names in lower case. */
  parameters: ReadonlyMap<string, string>
  /** Whether it goes to the camera: its loudspeaker. @source ONVIF Streaming Specification 24.12, 5.3 */
  isBackchannel: boolean
  /** Address of the medium, absolute or relative; undefined if the session's own is meant. */
  control: string | undefined
}

/** Media beyond this many are ignored. */
const MOST_MEDIA = 16

/** Reads a description; lines that are not understood are skipped, as the standard asks. */
export function readSdp(text: string): { control: string | undefined; media: SdpMedia[] } {
  const [session = [], ...sections] = sectionsOf(text)
  return { control: attribute(session, 'control'), media: sections.slice(0, MOST_MEDIA).flatMap(mediaOf) }
}

function sectionsOf(text: string): string[][] {
  const sections: string[][] = [[]]
  for (const line of text.split(/\r?\n/)) {
    if (line.startsWith('m=')) sections.push([])
    sections.at(-1)?.push(line)
  }
  return sections
}

function attribute(lines: readonly string[], name: string): string | undefined {
  const begin = `a=${name}:`
  const found = lines.find((line) => line.startsWith(begin))
  return found?.slice(begin.length).trim()
}

function mediaOf(lines: readonly string[]): SdpMedia[] {
  const [, kind, said] = /^m=(\w+) \S+ \S+ (\d{1,3})\b/.exec(lines[0] ?? '') ?? []
  if (kind === undefined || said === undefined) return []
  const of = (name: string) =>
    lines.find((line) => line.startsWith(`a=${name}:${said} `))?.slice(`a=${name}:${said} `.length)
  const [, encoding = '', rate = '0', channels = '1'] =
    /^([\w.-]+)\/(\d{1,9})(?:\/(\d{1,2}))?/.exec(of('rtpmap')?.trim() ?? '') ?? []
  return [
    {
      ...{ kind, payloadType: Number(said), encoding: encoding.toUpperCase(), clockRate: Number(rate) },
      channels: Number(channels),
      parameters: parametersOf(of('fmtp') ?? ''),
      isBackchannel: lines.some((line) => line.trim() === 'a=sendonly'),
      control: attribute(lines, 'control'),
    },
  ]
}

function parametersOf(text: string): Map<string, string> {
  const parameters = new Map<string, string>()
  for (const part of text.split(';')) {
    const equals = part.indexOf('=')
    if (equals > 0) parameters.set(part.slice(0, equals).trim().toLowerCase(), part.slice(equals + 1).trim())
  }
  return parameters
}

/**
 * Parameter sets that the description brings along. What is no base64 is left out: the stream itself mostly has them
 * too.
 */
export function parameterSetsOf({ parameters }: Pick<SdpMedia, 'parameters'>, codec: VideoCodec): Uint8Array[] {
  const texts = codec.setParameters.flatMap((name) => (parameters.get(name) ?? '').split(','))
  return texts.flatMap((text) => {
    const bare = text.trim().replace(/=+$/, '')
    try {
      // Some cameras leave the padding out, and none of it is needed.
      const bytes = bytesOfBase64(bare + '='.repeat((4 - (bare.length % 4)) % 4))
      return bytes.length > 0 ? [bytes] : []
    } catch {
      return []
    }
  })
}

/**
 * The address of a medium.
 * @param base `Content-Base` or what was asked for
 * @param control of the medium or the session
 */
export function controlUrl(base: string, control: string | undefined): string {
  if (control === undefined || control === '*' || control === '') return base
  if (/^rtsps?:\/\//i.test(control)) return control
  // Not as RFC 3986 resolves it: cameras have queries in the base, and mean the control to be appended.
  return base.endsWith('/') || control.startsWith('/') || control.startsWith('?')
    ? base + control
    : `${base}/${control}`
}
