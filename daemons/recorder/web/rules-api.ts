/** The calls of the pages about rules, buttons, alerts and outputs. */
import { call } from '#kit/web/call.ts'

/** One of GET /api/action-buttons. */
export interface Button {
  id: string
  name: string
  activeNow: boolean
  actions: string[]
}

/** One of GET /api/alerts. */
export interface Alert {
  id: string
  at: number
  rule: string
  cameraId: string | null
  cameraName: string | null
  summary: string
  by: string | null
  forYou: boolean
  results: { type: string; cameraId: string | null; state: 'waiting' | 'done' | 'failed'; sentence: string | null }[]
}

/** An action as answers and bodies have it: each kind has fields of its own. */
export interface Action {
  type: string
  cameraId?: string
  outputId?: string
  state?: string
  seconds?: number
  url?: string
  hasSecret?: boolean
  /** Only sent. */
  secret?: string | null
  beforeSeconds?: number
  afterSeconds?: number
  armed?: boolean
  ruleIds?: string[]
  minutes?: number
  userIds?: string[]
  channels?: string[]
  preset?: string
  /** Null: it stays there. */
  returnPreset?: string | null
  returnAfterSeconds?: number
  /** Null: as it is. */
  zoom?: number | null
  messageId?: string
  repeat?: number
}

export interface Trigger {
  type: string
  seconds?: number
  count?: number
  kinds?: string[]
  codes?: string[]
  direction?: string
  minutes?: number
  sensitivity?: string
}

export interface Schedule {
  days: number[]
  from: string
  to: string
}

/** A rule to make or to change. */
export interface RuleBody {
  name: string
  trigger: Trigger
  cameraIds: string[]
  labels: string[]
  groups: string[]
  schedule: Schedule | null
  cooldownSeconds: number | string
  actions: Action[]
}

/** One of GET /api/action-rules. */
export interface Rule extends RuleBody {
  id: string
  armed: boolean
  temporary_until: number | null
  activeNow: boolean
}

/** What a camera can switch. */
export interface Output {
  id: string
  kind: 'relay' | 'light' | 'siren'
  name: string
  on: boolean
  until: number | null
}

interface Outputs {
  outputs: Output[]
  probedAt: number | null
  notes: string | null
}

const rulePath = (id: string): `/${string}` => `/api/action-rules/${encodeURIComponent(id)}`
const outputsPath = (camera: string): `/${string}` => `/api/cameras/${encodeURIComponent(camera)}/outputs`

/** A camera is asked several times. */
const CAMERA_MS = 30_000

export const rulesApi = {
  list: () => call<Rule[]>('GET /api/action-rules', undefined, { isPolled: true }),
  add: (body: RuleBody) => call<Rule>('POST /api/action-rules', body),
  change: (id: string, body: Partial<RuleBody> & { armed?: boolean }) => call<Rule>(`PATCH ${rulePath(id)}`, body),
  remove: (id: string) => call<unknown>(`DELETE ${rulePath(id)}`),
  buttons: () => call<Button[]>('GET /api/action-buttons', undefined, { isPolled: true }),
  press: (id: string) => call<Alert>(`POST ${rulePath(id)}/press`),
  alerts: () => call<Alert[]>('GET /api/alerts?limit=50', undefined, { isPolled: true }),
  outputs: (camera: string) => call<Outputs>(`GET ${outputsPath(camera)}`, undefined, { isPolled: true }),
  findOutputs: (camera: string) => call<Outputs>(`POST ${outputsPath(camera)}`, undefined, { answerMs: CAMERA_MS }),
  switchOutput: (camera: string, output: string, state: string) =>
    call<Output>(`POST ${outputsPath(camera)}/${encodeURIComponent(output)}`, { state }, { answerMs: CAMERA_MS }),
  listen: (camera: string, cameraEvents: boolean) =>
    call<unknown>(`PATCH /api/cameras/${encodeURIComponent(camera)}`, { cameraEvents }),
}
