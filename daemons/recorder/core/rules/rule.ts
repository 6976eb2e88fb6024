/** A rule: what it waits for, under which conditions, and what it does. */
import type { CameraEventKind } from '../camera-events/meaning.ts'
import type { OutputWish } from '../outputs/outputs.ts'
import type { Schedule } from '../schedule.ts'

export const triggerTypes = [
  ...(['detection', 'departure', 'occupancy', 'absence'] as const),
  ...(['button', 'fault', 'camera_event', 'unusual'] as const),
] as const
export type TriggerType = (typeof triggerTypes)[number]

/** How readily something is called unusual. */
export const sensitivities = ['low', 'medium', 'high'] as const
export type Sensitivity = (typeof sensitivities)[number]

export const directions = ['more', 'fewer', 'either'] as const

/** What a rule waits for. */
export type Trigger =
  | { readonly type: 'detection' | 'departure' | 'button' }
  /** So many things that fit are there for so long. */
  | { readonly type: 'occupancy'; readonly count: number; readonly seconds: number }
  /** Nothing that fits was there for so long. */
  | { readonly type: 'absence'; readonly seconds: number }
  /** Something is wrong with the recorder: these conditions of the ledger, or every fault where none is named. */
  | { readonly type: 'fault'; readonly codes: readonly string[] }
  /** A camera claims it: these kinds, or each where none is named. */
  | { readonly type: 'camera_event'; readonly kinds: readonly CameraEventKind[] }
  /** More or fewer things that fit begin to be seen than is usual at this time of the week. */
  | {
      readonly type: 'unusual'
      readonly direction: (typeof directions)[number]
      /** Counted over so long: quarters of an hour. */
      readonly minutes: number
      readonly sensitivity: Sensitivity
    }

export const groups = ['person', 'vehicle', 'animal', 'other'] as const
export type Group = (typeof groups)[number]

/** Left, top, right and bottom, as fractions of a picture. */
export type Region = readonly [number, number, number, number]

/** Where a camera goes back to after a rule has moved it. */
interface Return {
  readonly returnPreset: string | null
  readonly returnAfterSeconds: number
}

/** What a rule does. @source interface document 3, A, Action rule */
export type Action =
  | { readonly type: 'notify'; readonly userIds: readonly string[]; readonly channels: readonly Channel[] }
  | { readonly type: 'webhook'; readonly url: string; readonly secret: string | null }
  | ({ readonly type: 'ptz_preset'; readonly cameraId: string; readonly preset: string } & Return)
  | ({ readonly type: 'ptz_aim'; readonly cameraId: string; readonly zoom: number | null } & Return)
  | {
      readonly type: 'output'
      readonly cameraId: string
      readonly outputId: string
      readonly state: OutputWish['state']
      readonly seconds: number
    }
  | { readonly type: 'talk_message'; readonly cameraId: string; readonly messageId: string; readonly repeat: number }
  | { readonly type: 'preserve'; readonly beforeSeconds: number; readonly afterSeconds: number }
  | { readonly type: 'arm'; readonly armed: boolean; readonly ruleIds: readonly string[]; readonly minutes: number }

/** How people are told: by the pages that they have open. */
export const channels = ['page'] as const
export type Channel = (typeof channels)[number]

/** Of those that move a camera, and may have it go back. */
export type MovingAction = Extract<Action, { returnPreset: unknown }>

export const ACTION_LIMITS = {
  ...{ actions: 10, preserveSeconds: 3600, armMinutes: 7 * 24 * 60, repeat: 3 },
  returnSeconds: { least: 5, most: 3600, usual: 60 },
} as const

/** A rule as it is saved. Never changed in place. */
export interface Rule {
  readonly id: string
  readonly name: string
  readonly trigger: Trigger
  /** Empty: every camera. */
  readonly cameraIds: readonly string[]
  /** Empty: whatever it is. */
  readonly labels: readonly string[]
  readonly groups: readonly Group[]
  readonly schedule: Schedule | null
  /** How long it rests after it has run, for each camera; a button never does. */
  readonly cooldownSeconds: number
  readonly armed: boolean
  /** Counts instead of `armed` until then. */
  readonly temporary: { readonly armed: boolean; readonly until: number } | null
  readonly actions: readonly Action[]
}

/** Whether it is armed, for now or for a time. */
export function isArmed({ armed, temporary }: Rule, nowAt: number): boolean {
  return temporary !== null && nowAt < temporary.until ? temporary.armed : armed
}

/** Cameras that an action has something to do with. */
export function camerasOfAction(action: Action): string[] {
  return 'cameraId' in action ? [action.cameraId] : []
}

/**
 * Cameras that a rule has to do with, also by the rules that it arms; `all` where one of them is about every camera. A
 * button itself is about none but those that are named.
 */
export function reachOf(rule: Rule, all: readonly Rule[]): 'all' | readonly string[] {
  const armed = rule.actions.flatMap((action) => (action.type === 'arm' ? action.ruleIds : []))
  const others = all.filter(({ id }) => id !== rule.id && armed.includes(id))
  if (others.some(({ cameraIds, trigger }) => cameraIds.length === 0 && trigger.type !== 'button')) return 'all'
  return [...new Set([rule, ...others].flatMap((one) => [...one.cameraIds, ...one.actions.flatMap(camerasOfAction)]))]
}
