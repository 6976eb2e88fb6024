/** A camera that turns, as it is asked over ONVIF: it takes its time, has limits, and knows the truth of where it looks. */
import { directionOf, type View } from '../../core/ptz/geometry.ts'
import { FIELD_OF_VIEW, type Range, SPHERICAL } from '../../wire/onvif-ptz.ts'

const GENERIC = 'http://www.onvif.org/ver10/tptz/PanTiltSpaces/PositionGenericSpace'
const SPEED = 'http://www.onvif.org/ver10/tptz/PanTiltSpaces/VelocityGenericSpace'
const ZOOM = 'http://www.onvif.org/ver10/tptz/ZoomSpaces/PositionGenericSpace'
const ZOOM_BY = 'http://www.onvif.org/ver10/tptz/ZoomSpaces/TranslationGenericSpace'
const ZOOM_SPEED = 'http://www.onvif.org/ver10/tptz/ZoomSpaces/VelocityGenericSpace'

interface Units {
  uri: string
  pan: Range
  tilt: Range
  /** Degrees for each unit. */
  panPerUnit: number
  tiltPerUnit: number
}

/** How cameras count. */
export const UNITS = {
  spherical: {
    uri: SPHERICAL,
    pan: { min: -180, max: 180 },
    tilt: { min: -90, max: 30 },
    panPerUnit: 1,
    tiltPerUnit: 1,
  },
  generic: { uri: GENERIC, pan: { min: -1, max: 1 }, tilt: { min: -1, max: 1 }, panPerUnit: 180, tiltPerUnit: 90 },
  degrees: { uri: GENERIC, pan: { min: 0, max: 360 }, tilt: { min: -20, max: 90 }, panPerUnit: 1, tiltPerUnit: -1 },
  hundredths: {
    uri: GENERIC,
    pan: { min: 0, max: 35_999 },
    tilt: { min: -2000, max: 9000 },
    panPerUnit: 0.01,
    tiltPerUnit: 0.01,
  },
} satisfies Record<string, Units>

/** What it is, and how it misbehaves. */
export interface PtzTraits {
  nowMs(): number
  /** Undefined: it cannot be sent to a position. */
  units: Units | undefined
  /** Range of its space of the field of view; undefined: it has none. */
  byView: Range | undefined
  /** How much it goes of the way that it was told by its view: as if it saw narrower. */
  viewGain: number
  wideDeg: number
  zoomTimes: number
  degPerS: number
  /** How far beside a place it comes to rest, without knowing it. */
  missDeg: { pan: number; tilt: number }
  presets: Map<string, { name: string; pan: number; tilt: number; zoom: number }>
  /** Whether it stops by itself after the time that it was told. */
  keepsTimeout: boolean
  tellsPosition: boolean
  tellsMoving: boolean
  refuses: ReadonlySet<string>
}

interface Pose {
  pan: number
  tilt: number
  zoom: number
}

type Motion = { kind: 'still' } | { kind: 'to'; pose: Pose } | { kind: 'on'; speed: Pose; untilMs: number }

export class PtzSimulator {
  readonly traits: PtzTraits
  /** What it was told, in order, and when. */
  readonly told: { name: string; atMs: number; text: string }[] = []
  #pose: Pose
  #motion: Motion = { kind: 'still' }
  #atMs: number
  #isBeside = false

  constructor(wish: Partial<PtzTraits> = {}, pose: Pose = { pan: 20, tilt: -10, zoom: 0 }) {
    this.traits = {
      ...{
        nowMs: () => performance.now(),
        units: UNITS.spherical,
        byView: undefined,
        viewGain: 1,
        wideDeg: 60,
        zoomTimes: 10,
      },
      ...{ degPerS: 120, missDeg: { pan: 0, tilt: 0 }, presets: new Map(), keepsTimeout: true, tellsPosition: true },
      ...{ tellsMoving: true, refuses: new Set<string>() },
      ...wish,
    }
    this.#pose = pose
    this.#atMs = this.traits.nowMs()
  }

  /** Where it looks now. */
  pose(): Pose {
    const nowMs = this.traits.nowMs()
    const passedMs = nowMs - this.#atMs
    this.#atMs = nowMs
    const motion = this.#motion
    if (motion.kind === 'on') this.#goOn(motion, passedMs)
    if (motion.kind === 'to') this.#goTo(motion.pose, passedMs)
    return { ...this.#pose }
  }

  isMoving(): boolean {
    this.pose()
    return this.#motion.kind !== 'still'
  }

  /** What it sees now. */
  view(): View {
    const { pan, tilt, zoom } = this.pose()
    return { pan, tilt, hfovDeg: this.hfovAt(zoom), aspect: 9 / 16 }
  }

  hfovAt(zoom: number): number {
    const { wideDeg, zoomTimes } = this.traits
    const times = 1 + (zoomTimes - 1) * zoom ** 1.3
    return (2 * Math.atan(Math.tan((wideDeg / 2) * (Math.PI / 180)) / times) * 180) / Math.PI
  }

  /** Somebody turns it by hand. */
  push(by: Partial<Pose>): void {
    const { pan, tilt, zoom } = this.pose()
    this.#pose = { pan: pan + (by.pan ?? 0), tilt: tilt + (by.tilt ?? 0), zoom: zoom + (by.zoom ?? 0) }
    this.#motion = { kind: 'still' }
  }

  #goOn({ speed, untilMs }: { speed: Pose; untilMs: number }, passedMs: number): void {
    const { degPerS, keepsTimeout } = this.traits
    const leftMs = keepsTimeout ? Math.max(0, untilMs - (this.#atMs - passedMs)) : Infinity
    const seconds = Math.min(passedMs, leftMs) / 1000
    const { pan, tilt, zoom } = this.#pose
    this.#pose = this.#held({
      pan: pan + speed.pan * degPerS * seconds,
      tilt: tilt + speed.tilt * degPerS * seconds,
      zoom: zoom + (speed.zoom * seconds) / 2,
    })
    if (keepsTimeout && this.#atMs >= untilMs) this.#motion = { kind: 'still' }
  }

  #goTo(target: Pose, passedMs: number): void {
    const most = (this.traits.degPerS * passedMs) / 1000
    const near = (from: number, to: number, step: number) =>
      Math.abs(to - from) <= step ? to : from + Math.sign(to - from) * step
    const { pan, tilt, zoom } = this.#pose
    this.#pose = {
      pan: near(pan, target.pan, most),
      tilt: near(tilt, target.tilt, most),
      zoom: near(zoom, target.zoom, passedMs / 2000),
    }
    const { pan: p, tilt: t, zoom: z } = this.#pose
    if (p === target.pan && t === target.tilt && z === target.zoom) this.#motion = { kind: 'still' }
  }

  /** Within its limits; all around it goes on from its other end. */
  #held({ pan, tilt, zoom }: Pose): Pose {
    const units = this.traits.units ?? UNITS.spherical
    const ends = (range: Range, perUnit: number) => [range.min * perUnit, range.max * perUnit].sort((a, b) => a - b)
    const inside = (value: number, [low = 0, high = 0]: number[]) => Math.max(low, Math.min(high, value))
    return {
      pan: inside(pan, ends(units.pan, units.panPerUnit)),
      tilt: inside(tilt, ends(units.tilt, units.tiltPerUnit)),
      zoom: inside(zoom, [0, 1]),
    }
  }

  #send(pose: Pose): void {
    const { pan, tilt } = this.traits.missDeg
    this.#isBeside = true
    this.#motion = { kind: 'to', pose: this.#held({ ...pose, pan: pose.pan + pan, tilt: pose.tilt + tilt }) }
  }

  /** @returns the answer; undefined for what it does not know */
  answer(name: string, text: string): string | undefined {
    if (this.traits.refuses.has(name)) return undefined
    const of = this.#answers[name]
    if (!of) return undefined
    this.pose()
    this.told.push({ name, atMs: this.traits.nowMs(), text })
    return of(text)
  }

  readonly #answers: Readonly<Record<string, (text: string) => string>> = {
    GetNodes: () =>
      `<x:PTZNode token="node"><t:SupportedPTZSpaces>${this.#spaces()}</t:SupportedPTZSpaces><t:MaximumNumberOfPresets>8</t:MaximumNumberOfPresets></x:PTZNode>`,
    GetConfigurationOptions: () =>
      `<x:PTZConfigurationOptions><t:Spaces>${this.#spaces()}</t:Spaces><t:PTZTimeout><t:Min>PT0.2S</t:Min><t:Max>PT1M</t:Max></t:PTZTimeout></x:PTZConfigurationOptions>`,
    GetStatus: () => this.#status(),
    AbsoluteMove: (text) => {
      const { units } = this.traits
      const [pan, tilt, zoom] = [
        numberIn(text, 'PanTilt', 'x'),
        numberIn(text, 'PanTilt', 'y'),
        numberIn(text, 'Zoom', 'x'),
      ]
      if (!units || pan === undefined || tilt === undefined) return faulty
      this.#send({ pan: pan * units.panPerUnit, tilt: tilt * units.tiltPerUnit, zoom: zoom ?? this.#pose.zoom })
      return ''
    },
    RelativeMove: (text) => {
      const { byView, viewGain } = this.traits
      const [x, y, zoom] = [numberIn(text, 'PanTilt', 'x'), numberIn(text, 'PanTilt', 'y'), numberIn(text, 'Zoom', 'x')]
      if (!byView || x === undefined || y === undefined) return faulty
      const direction = directionOf({ x: (x * viewGain) / byView.max, y: (y * viewGain) / byView.max }, this.view())
      this.#send({ ...direction, zoom: this.#pose.zoom + (zoom ?? 0) })
      return ''
    },
    ContinuousMove: (text) => {
      const of = (element: string, name: string) => numberIn(text, element, name) ?? 0
      const seconds = Number(/<Timeout>PT([\d.]+)S</.exec(text)?.[1] ?? 1)
      const speed = { pan: of('PanTilt', 'x'), tilt: of('PanTilt', 'y'), zoom: of('Zoom', 'x') }
      this.#motion = { kind: 'on', speed, untilMs: this.#atMs + seconds * 1000 }
      return ''
    },
    Stop: () => {
      this.#motion = { kind: 'still' }
      return ''
    },
    GetPresets: () =>
      [...this.traits.presets]
        .map(([token, { name }]) => `<x:Preset token="${token}"><t:Name>${name}</t:Name></x:Preset>`)
        .join(''),
    GotoPreset: (text) => {
      const found = this.traits.presets.get(/<PresetToken>([^<]*)</.exec(text)?.[1] ?? '')
      if (!found) return faulty
      this.#send(found)
      return ''
    },
    SetPreset: (text) => {
      const token = `p${this.traits.presets.size + 1}`
      this.traits.presets.set(token, { name: /<PresetName>([^<]*)</.exec(text)?.[1] ?? '', ...this.pose() })
      return `<x:PresetToken>${token}</x:PresetToken>`
    },
  }

  #spaces(): string {
    const { byView, units } = this.traits
    const both = (name: string, uri: string, x: Range, y: Range) =>
      `<t:${name}><t:URI>${uri}</t:URI>${rangeText('XRange', x)}${rangeText('YRange', y)}</t:${name}>`
    const one = (name: string, uri: string, x: Range) =>
      `<t:${name}><t:URI>${uri}</t:URI>${rangeText('XRange', x)}</t:${name}>`
    const whole = { min: -1, max: 1 }
    return [
      units ? both('AbsolutePanTiltPositionSpace', units.uri, units.pan, units.tilt) : '',
      units ? one('AbsoluteZoomPositionSpace', ZOOM, { min: 0, max: 1 }) : '',
      byView ? both('RelativePanTiltTranslationSpace', FIELD_OF_VIEW, byView, byView) : '',
      byView ? one('RelativeZoomTranslationSpace', ZOOM_BY, whole) : '',
      both('ContinuousPanTiltVelocitySpace', SPEED, whole, whole),
      one('ContinuousZoomVelocitySpace', ZOOM_SPEED, whole),
    ].join('')
  }

  #status(): string {
    const { missDeg, tellsMoving, tellsPosition, units } = this.traits
    const miss = this.#isBeside ? missDeg : { pan: 0, tilt: 0 }
    const { zoom } = this.#pose
    const [pan, tilt] = [this.#pose.pan - miss.pan, this.#pose.tilt - miss.tilt]
    const state = this.#motion.kind === 'still' ? 'IDLE' : 'MOVING'
    const position =
      tellsPosition && units
        ? `<t:Position><t:PanTilt x="${pan / units.panPerUnit}" y="${tilt / units.tiltPerUnit}" space="${units.uri}"/><t:Zoom x="${zoom}"/></t:Position>`
        : ''
    const moving = tellsMoving
      ? `<t:MoveStatus><t:PanTilt>${state}</t:PanTilt><t:Zoom>${state}</t:Zoom></t:MoveStatus>`
      : ''
    return `<x:PTZStatus>${position}${moving}</x:PTZStatus>`
  }
}

/** What stands for a fault. */
export const faulty = 'Fault'

/** How a profile has it. */
export const ptzConfiguration = '<t:PTZConfiguration token="ptz"><t:NodeToken>node</t:NodeToken></t:PTZConfiguration>'

function rangeText(name: string, { max, min }: Range): string {
  return `<t:${name}><t:Min>${min}</t:Min><t:Max>${max}</t:Max></t:${name}>`
}

function numberIn(text: string, element: string, name: string): number | undefined {
  const found = new RegExp(`<${element} [^>]*\\b${name}="([^"]*)"`).exec(text)?.[1]
  return found === undefined ? undefined : Number(found)
}
