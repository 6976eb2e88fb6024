/**
 * Operations of ONVIF: what is asked, and what the answers say.
 * @source ONVIF Core Specification 8.1 (GetServices, GetCapabilities), 8.3 (GetDeviceInformation);
 *   Media Service Specification 5.2, 5.15; Media2 Service Specification 5.2, 5.9
 */
import { Fault } from '#kit/pure/fault.ts'
import { plainText } from '#kit/pure/text.ts'
import { childrenOf, elementAt, escapeXml, numberAt, textAt, type XmlElement } from './xml.ts'

/** One operation. */
export interface OnvifOperation<Answer> {
  /** Its body, as XML. */
  body: string
  /** Elements of the header beside the login, as XML. */
  addressing?: string
  /** How much longer than usual the camera may take for its answer, since it waits for something to happen. */
  holdMs?: number
  /** The element of the answer. */
  answer: string
  /** @throws Fault `onvif_broken` where the answer lacks what it must have */
  read(answer: XmlElement): Answer
}

const DEVICE = 'http://www.onvif.org/ver10/device/wsdl'
const MEDIA_1 = 'http://www.onvif.org/ver10/media/wsdl'
const MEDIA_2 = 'http://www.onvif.org/ver20/media/wsdl'
const SCHEMA = 'http://www.onvif.org/ver10/schema'

/** What a camera says of itself, made safe to show. */
export const getDeviceInformation: OnvifOperation<{ manufacturer: string; model: string }> = {
  body: `<GetDeviceInformation xmlns="${DEVICE}"/>`,
  answer: 'GetDeviceInformationResponse',
  read: (answer) => ({
    manufacturer: plainText(textAt(answer, 'Manufacturer') ?? '', 64),
    model: plainText(textAt(answer, 'Model') ?? '', 64),
  }),
}

/** A service of media: its address, and in which of the two versions it is spoken to. */
export interface MediaService {
  version: 1 | 2
  address: string
}

const getServices = {
  body: `<GetServices xmlns="${DEVICE}"><IncludeCapability>false</IncludeCapability></GetServices>`,
  answer: 'GetServicesResponse',
}

function addressIn(services: XmlElement, namespace: string): string | undefined {
  return textAt(
    childrenOf(services, 'Service').find((service) => textAt(service, 'Namespace') === namespace),
    'XAddr',
  )
}

/** The address of a service; undefined where the camera has none. @param namespace of the service */
export function getServiceAddress(namespace: string): OnvifOperation<string | undefined> {
  return { ...getServices, read: (answer) => addressIn(answer, namespace) }
}

/** The same of cameras that are older than `GetServices`. @param path of the service below Capabilities, such as `Events` */
export function getCapabilityAddress(...path: readonly string[]): OnvifOperation<string | undefined> {
  return {
    body: `<GetCapabilities xmlns="${DEVICE}"><Category>All</Category></GetCapabilities>`,
    answer: 'GetCapabilitiesResponse',
    read: (answer) => textAt(answer, 'Capabilities', ...path, 'XAddr'),
  }
}

/** The services of media, the newer one first: it alone tells of H.265. */
export const getMediaServices: OnvifOperation<MediaService[]> = {
  ...getServices,
  read(answer) {
    const of = (version: 1 | 2, namespace: string): MediaService[] => {
      const address = addressIn(answer, namespace)
      return address === undefined ? [] : [{ version, address }]
    }
    return [...of(2, MEDIA_2), ...of(1, MEDIA_1)]
  },
}

/** The same of cameras that are older than `GetServices`. */
export const getMediaCapability: OnvifOperation<MediaService[]> = {
  body: `<GetCapabilities xmlns="${DEVICE}"><Category>Media</Category></GetCapabilities>`,
  answer: 'GetCapabilitiesResponse',
  read(answer) {
    const address = textAt(answer, 'Capabilities', 'Media', 'XAddr')
    return address === undefined ? [] : [{ version: 1, address }]
  },
}

/** What a camera can send, as it is set there. */
export interface MediaProfile {
  /** Names it to the camera. */
  token: string
  /** `H264`, `H265`, `JPEG`, `MPEG4`; upper case. */
  encoding: string
  width: number
  height: number
  /** Pictures per second at most; undefined if it says none. */
  fps: number | undefined
}

/** Profiles beyond are ignored: a recorder of 64 channels may tell of hundreds. */
const MOST_PROFILES = 64
const LONGEST_TOKEN = 64

/** The profiles that send video. */
export function getProfiles(version: 1 | 2): OnvifOperation<MediaProfile[]> {
  const body =
    version === 1
      ? `<GetProfiles xmlns="${MEDIA_1}"/>`
      : `<GetProfiles xmlns="${MEDIA_2}"><Type>VideoEncoder</Type></GetProfiles>`
  const path = version === 1 ? ['VideoEncoderConfiguration'] : ['Configurations', 'VideoEncoder']
  return {
    body,
    answer: 'GetProfilesResponse',
    read: (answer) =>
      childrenOf(answer, 'Profiles')
        .slice(0, MOST_PROFILES)
        .flatMap((profile) => profileOf(profile, elementAt(profile, ...path))),
  }
}

function profileOf(profile: XmlElement, encoder: XmlElement | undefined): MediaProfile[] {
  const token = profile.attributes.get('token') ?? ''
  const width = numberAt(encoder, 'Resolution', 'Width')
  const height = numberAt(encoder, 'Resolution', 'Height')
  const encoding = plainText(textAt(encoder, 'Encoding') ?? '', 16).toUpperCase()
  if (token === '' || token.length > LONGEST_TOKEN || !width || !height || encoding === '') return []
  const rate = Number(/^\d{1,4}(?:\.\d{1,9})?$/.exec(textAt(encoder, 'RateControl', 'FrameRateLimit') ?? '')?.[0] ?? 0)
  return [{ token, encoding, width, height, fps: rate > 0 ? rate : undefined }]
}

/** The address of a profile's stream. */
export function getStreamUri(version: 1 | 2, token: string): OnvifOperation<string> {
  const profile = `<ProfileToken>${escapeXml(token)}</ProfileToken>`
  const setup =
    `<StreamSetup><Stream xmlns="${SCHEMA}">RTP-Unicast</Stream>` +
    `<Transport xmlns="${SCHEMA}"><Protocol>RTSP</Protocol></Transport></StreamSetup>`
  const body =
    version === 1
      ? `<GetStreamUri xmlns="${MEDIA_1}">${setup}${profile}</GetStreamUri>`
      : `<GetStreamUri xmlns="${MEDIA_2}"><Protocol>RTSP</Protocol>${profile}</GetStreamUri>`
  return {
    body,
    answer: 'GetStreamUriResponse',
    read(answer) {
      const uri = version === 1 ? textAt(answer, 'MediaUri', 'Uri') : textAt(answer, 'Uri')
      if (uri === undefined || !/^rtsp:\/\/[^/]/i.test(uri) || !URL.canParse(uri))
        throw new Fault('onvif_broken', 'The camera tells no RTSP address of its stream. Add it by its RTSP address.')
      return uri
    },
  }
}

/**
 * An address that a camera says, at the host that it answers from: many say one that they had before, or one behind
 * a router, and a hostile one says somebody else's.
 * @param host a name or an address, IPv6 in brackets
 * @throws Fault `onvif_broken` for what is no address
 */
export function atHost(address: string, host: string): string {
  const url = URL.parse(address)
  if (url) url.hostname = host
  if (url?.hostname !== host || !/^(?:https?|rtsp):$/.test(url.protocol))
    throw new Fault('onvif_broken', 'The camera says an address that cannot be read.')
  url.username = ''
  url.password = ''
  return url.href
}
