/**
 * Operations of ONVIF that turn a camera: which spaces it knows, moves, presets, where it looks.
 * @source ONVIF PTZ Service Specification 5.1 (nodes), 5.2 (configurations), 5.3 (moves), 5.4 (status), 5.5 (presets), 5.8 (spaces)
 */
import { Fault } from '#kit/pure/fault.ts'
import { plainText } from '#kit/pure/text.ts'
import type { OnvifOperation } from './onvif.ts'
import { childrenOf, elementAt, escapeXml, numberAt, textAt, type XmlElement } from './xml.ts'

export const PTZ = 'http://www.onvif.org/ver20/ptz/wsdl'
const MEDIA_1 = 'http://www.onvif.org/ver10/media/wsdl'
const MEDIA_2 = 'http://www.onvif.org/ver20/media/wsdl'
const SCHEMA = 'http://www.onvif.org/ver10/schema'

const PAN_TILT = 'http://www.onvif.org/ver10/tptz/PanTiltSpaces'

/** Names of spaces in which a camera turns. */
export const SPHERICAL = `${PAN_TILT}/SphericalPositionSpaceDegrees`
export const FIELD_OF_VIEW = `${PAN_TILT}/TranslationSpaceFov`

/** From smallest to largest; the largest is more than the smallest. */
export interface Range {
  min: number
  max: number
}

/** A space to pan and tilt in. */
export interface PanTiltSpace {
  uri: string
  pan: Range
  tilt: Range
}

/** A space to zoom in. */
export interface ZoomSpace {
  uri: string
  zoom: Range
}

/** The spaces that a camera knows, in its own order. */
export interface PtzSpaces {
  absolute: PanTiltSpace[]
  absoluteZoom: ZoomSpace[]
  relative: PanTiltSpace[]
  relativeZoom: ZoomSpace[]
  continuous: PanTiltSpace[]
  continuousZoom: ZoomSpace[]
}

const MOST_SPACES = 16
const LONGEST_URI = 256
const LONGEST_TOKEN = 64
const LONGEST_NAME = 64
const MOST_PROFILES = 64
const MOST_NODES = 16
/** Beyond, no camera counts its steps. */
const LARGEST = 1_000_000

/** A decimal number, within reason. */
function decimalOf(text: string | undefined): number | undefined {
  if (text === undefined || !/^[+-]?(?:\d{1,12}(?:\.\d{0,20})?|\.\d{1,20})(?:[eE][+-]?\d{1,3})?$/.test(text.trim()))
    return undefined
  const value = Number(text)
  return Math.abs(value) <= LARGEST ? value : undefined
}

function rangeAt(element: XmlElement | undefined, name: string): Range | undefined {
  const min = decimalOf(textAt(element, name, 'Min'))
  const max = decimalOf(textAt(element, name, 'Max'))
  return min === undefined || max === undefined || !(min < max) ? undefined : { min, max }
}

function uriOf(element: XmlElement): string | undefined {
  const uri = textAt(element, 'URI')
  return uri !== undefined && uri.length <= LONGEST_URI ? uri : undefined
}

function panTiltOf(element: XmlElement): PanTiltSpace[] {
  const [uri, pan, tilt] = [uriOf(element), rangeAt(element, 'XRange'), rangeAt(element, 'YRange')]
  return uri !== undefined && pan && tilt ? [{ uri, pan, tilt }] : []
}

function zoomOf(element: XmlElement): ZoomSpace[] {
  const [uri, zoom] = [uriOf(element), rangeAt(element, 'XRange')]
  return uri !== undefined && zoom ? [{ uri, zoom }] : []
}

function spacesOf(element: XmlElement | undefined): PtzSpaces {
  const all = <Space>(name: string, of: (element: XmlElement) => Space[]) =>
    childrenOf(element, name).slice(0, MOST_SPACES).flatMap(of)
  return {
    absolute: all('AbsolutePanTiltPositionSpace', panTiltOf),
    absoluteZoom: all('AbsoluteZoomPositionSpace', zoomOf),
    relative: all('RelativePanTiltTranslationSpace', panTiltOf),
    relativeZoom: all('RelativeZoomTranslationSpace', zoomOf),
    continuous: all('ContinuousPanTiltVelocitySpace', panTiltOf),
    continuousZoom: all('ContinuousZoomVelocitySpace', zoomOf),
  }
}

function tokenOf(text: string | undefined): string | undefined {
  return text !== undefined && text !== '' && text.length <= LONGEST_TOKEN ? text : undefined
}

/** How a profile of media is turned. */
export interface PtzProfile {
  token: string
  configuration: string
  node: string
  /** The space in which positions are told that name none. */
  usual: string | undefined
  /** How far it may be turned, in spaces of its own; empty if it says no limits. */
  limits: PanTiltSpace[]
  zoomLimits: ZoomSpace[]
}

/** The profiles that have PTZ. */
export function getPtzProfiles(version: 1 | 2): OnvifOperation<PtzProfile[]> {
  const path = version === 1 ? ['PTZConfiguration'] : ['Configurations', 'PTZ']
  return {
    body:
      version === 1
        ? `<GetProfiles xmlns="${MEDIA_1}"/>`
        : `<GetProfiles xmlns="${MEDIA_2}"><Type>PTZ</Type></GetProfiles>`,
    answer: 'GetProfilesResponse',
    read: (answer) =>
      childrenOf(answer, 'Profiles')
        .slice(0, MOST_PROFILES)
        .flatMap((profile) => profileOf(profile, elementAt(profile, ...path))),
  }
}

function profileOf(profile: XmlElement, configured: XmlElement | undefined): PtzProfile[] {
  const token = tokenOf(profile.attributes.get('token'))
  const configuration = tokenOf(configured?.attributes.get('token'))
  const node = tokenOf(textAt(configured, 'NodeToken'))
  if (token === undefined || configuration === undefined || node === undefined) return []
  const [limits, zoomLimits] = [
    elementAt(configured, 'PanTiltLimits', 'Range'),
    elementAt(configured, 'ZoomLimits', 'Range'),
  ]
  return [
    {
      ...{ token, configuration, node },
      // The schema spells it so.
      usual: textAt(configured, 'DefaultAbsolutePantTiltPositionSpace'),
      limits: limits ? panTiltOf(limits) : [],
      zoomLimits: zoomLimits ? zoomOf(zoomLimits) : [],
    },
  ]
}

/** What turns, and how. */
export interface PtzNode {
  token: string
  spaces: PtzSpaces
  mostPresets: number
}

export const getPtzNodes: OnvifOperation<PtzNode[]> = {
  body: `<GetNodes xmlns="${PTZ}"/>`,
  answer: 'GetNodesResponse',
  read: (answer) =>
    childrenOf(answer, 'PTZNode')
      .slice(0, MOST_NODES)
      .flatMap((node) => {
        const token = tokenOf(node.attributes.get('token'))
        const spaces = spacesOf(elementAt(node, 'SupportedPTZSpaces'))
        return token === undefined
          ? []
          : [{ token, spaces, mostPresets: numberAt(node, 'MaximumNumberOfPresets') ?? 0 }]
      }),
}

/** What a configuration allows. */
export interface PtzOptions {
  spaces: PtzSpaces
  /** How long a move may be told to take; undefined if it does not say. */
  timeoutMs: Range | undefined
}

export function getPtzOptions(configuration: string): OnvifOperation<PtzOptions> {
  const token = `<ConfigurationToken>${escapeXml(configuration)}</ConfigurationToken>`
  return {
    body: `<GetConfigurationOptions xmlns="${PTZ}">${token}</GetConfigurationOptions>`,
    answer: 'GetConfigurationOptionsResponse',
    read(answer) {
      const said = elementAt(answer, 'PTZConfigurationOptions')
      const [min, max] = [
        msOfDuration(textAt(said, 'PTZTimeout', 'Min')),
        msOfDuration(textAt(said, 'PTZTimeout', 'Max')),
      ]
      return {
        spaces: spacesOf(elementAt(said, 'Spaces')),
        timeoutMs: min === undefined || max === undefined || min > max ? undefined : { min, max },
      }
    },
  }
}

/** Milliseconds of a duration such as `PT1M0.5S`; undefined for none, and for one of years or months. */
function msOfDuration(text: string | undefined): number | undefined {
  const parts = /^P(?:(\d{1,4})D)?(?:T(?:(\d{1,6})H)?(?:(\d{1,6})M)?(?:(\d{1,9}(?:\.\d{1,9})?)S)?)?$/.exec(text ?? '')
  if (!parts) return undefined
  const [days, hours, minutes, seconds] = parts.slice(1).map((part) => Number(part ?? 0))
  return Math.round((((days ?? 0) * 24 + (hours ?? 0)) * 3600 + (minutes ?? 0) * 60 + (seconds ?? 0)) * 1000)
}

/** A place in a space, or a way in it, or a speed. */
export interface PanTiltVector {
  uri: string
  pan: number
  tilt: number
}

export interface ZoomVector {
  uri: string
  zoom: number
}

/** What is not there stays as it is. */
export interface PtzVector {
  panTilt: PanTiltVector | undefined
  zoom: ZoomVector | undefined
}

/** Without an exponent, which few cameras read. */
function decimalText(value: number): string {
  return String(Number(value.toFixed(6)) + 0)
}

function vectorText({ panTilt, zoom }: PtzVector): string {
  const both = panTilt
    ? `<PanTilt xmlns="${SCHEMA}" x="${decimalText(panTilt.pan)}" y="${decimalText(panTilt.tilt)}" space="${escapeXml(panTilt.uri)}"/>`
    : ''
  const one = zoom ? `<Zoom xmlns="${SCHEMA}" x="${decimalText(zoom.zoom)}" space="${escapeXml(zoom.uri)}"/>` : ''
  return both + one
}

function command(name: string, profile: string, rest: string): OnvifOperation<undefined> {
  return {
    body: `<${name} xmlns="${PTZ}"><ProfileToken>${escapeXml(profile)}</ProfileToken>${rest}</${name}>`,
    answer: `${name}Response`,
    read: () => undefined,
  }
}

export function absoluteMove(profile: string, to: PtzVector): OnvifOperation<undefined> {
  return command('AbsoluteMove', profile, `<Position>${vectorText(to)}</Position>`)
}

export function relativeMove(profile: string, by: PtzVector): OnvifOperation<undefined> {
  return command('RelativeMove', profile, `<Translation>${vectorText(by)}</Translation>`)
}

/** @param timeoutMs after which the camera stops by itself */
export function continuousMove(profile: string, speed: PtzVector, timeoutMs: number): OnvifOperation<undefined> {
  const timeout = `<Timeout>PT${decimalText(timeoutMs / 1000)}S</Timeout>`
  return command('ContinuousMove', profile, `<Velocity>${vectorText(speed)}</Velocity>${timeout}`)
}

export function stopMove(profile: string): OnvifOperation<undefined> {
  return command('Stop', profile, '<PanTilt>true</PanTilt><Zoom>true</Zoom>')
}

/** A place that the camera remembers. */
export interface Preset {
  token: string
  /** Made safe to show. */
  name: string
}

/** @param most beyond, they are left out */
export function getPresets(profile: string, most: number): OnvifOperation<Preset[]> {
  return {
    ...command('GetPresets', profile, ''),
    read: (answer) =>
      childrenOf(answer, 'Preset')
        .flatMap((preset) => {
          const token = tokenOf(preset.attributes.get('token'))
          return token === undefined
            ? []
            : [{ token, name: plainText(textAt(preset, 'Name') ?? '', LONGEST_NAME) || plainText(token, LONGEST_NAME) }]
        })
        .slice(0, most),
  }
}

export function gotoPreset(profile: string, token: string): OnvifOperation<undefined> {
  return command('GotoPreset', profile, `<PresetToken>${escapeXml(token)}</PresetToken>`)
}

/** Has the camera remember where it looks. @returns the token */
export function setPreset(profile: string, name: string): OnvifOperation<string> {
  return {
    ...command('SetPreset', profile, `<PresetName>${escapeXml(name)}</PresetName>`),
    read(answer) {
      const token = tokenOf(textAt(answer, 'PresetToken'))
      if (token === undefined)
        throw new Fault('onvif_broken', 'The camera saved a preset and did not tell its token. Look at its presets.')
      return token
    },
  }
}

/** Where a camera looks. */
export interface PtzStatus {
  panTilt: { pan: number; tilt: number; uri: string | undefined } | undefined
  zoom: number | undefined
  /** Undefined where it does not say. */
  isMoving: boolean | undefined
}

export function getPtzStatus(profile: string): OnvifOperation<PtzStatus> {
  return {
    ...command('GetStatus', profile, ''),
    read(answer) {
      const said = elementAt(answer, 'PTZStatus')
      const at = elementAt(said, 'Position', 'PanTilt')?.attributes
      const [pan, tilt] = [decimalOf(at?.get('x')), decimalOf(at?.get('y'))]
      const states = ['PanTilt', 'Zoom'].map((part) => textAt(said, 'MoveStatus', part))
      return {
        panTilt: pan === undefined || tilt === undefined ? undefined : { pan, tilt, uri: at?.get('space') },
        zoom: decimalOf(elementAt(said, 'Position', 'Zoom')?.attributes.get('x')),
        isMoving: states.includes('MOVING') ? true : states.includes('IDLE') ? false : undefined,
      }
    },
  }
}
