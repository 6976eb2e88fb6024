/** The calls of the panel to the update server. */
import { call } from '#kit/web/call.ts'
import type { ArtifactType, Channel, InstallationRecord, Outcome, ReleaseRecord } from '../core/ports.ts'

export type { ArtifactType, Channel }
export type InstallationState = InstallationRecord['state']

/** Wrong passwords are answered later and later. */
const SIGN_IN_MS = 60_000

export interface Status {
  name: string
  version: string
  /** Epoch ms, by the server's clock. */
  now: number
}

export interface Counts {
  pending: number
  enabled: number
  disabled: number
}

export interface Health {
  installations: Counts
  releases: number
  /** Versions. */
  halted: readonly string[]
  downloads: { updates: number; installers: number }
  disk: { freeBytes: number; reservedBytes: number }
  updateKeySet: boolean
}

/** What became of a version at an installation. Instants are epoch ms. */
export interface Delivery {
  version: string
  /** Of an image: the kind of board that it is for. */
  compatible: string | null
  fetched_at: number | null
  outcome: Outcome | null
  reported_at: number | null
  step: string | null
  reason: string | null
}

export interface Installation {
  id: string
  state: InstallationState
  name: string | null
  /** Given by an administrator; goes before the one that it asks for. */
  channel: Channel | null
  asked_channel: Channel | null
  version: string | null
  build: string | null
  arch: string | null
  registered_at: number
  registered_from: string
  last_seen_at: number
  address: string
  /** Version that it would be offered now. */
  offered: string | null
  /** Kind of board, of one that takes images. */
  compatible: string | null
  /** The newest last. */
  updates: readonly Delivery[]
}

export interface InstallationList {
  installations: readonly Installation[]
  /** Of those asked for, on all pages. */
  total: number
  counts: Counts
}

export interface InstallationQuery {
  state?: InstallationState | undefined
  q?: string
  /** Only those that met the release of this id. */
  release?: string
  limit: number
}

export interface InstallationBody {
  enabled?: boolean
  name?: string | null
  channel?: Channel | null
  retry?: true
}

/** A published file. */
export interface ReleaseFile {
  filename: string
  checksum: string
  size: number
  bundle_hash: string | null
  published_at: number
  signed: boolean
}

export interface Release {
  /** What names it in paths and links. */
  id: string
  version: string
  /** Of an image: the kind of board that it is for. */
  compatible: string | null
  state: ReleaseRecord['state']
  channel: Channel
  percent: number
  hold: boolean
  min_from: string | null
  arch: string | null
  update: ReleaseFile | null
  installer: ReleaseFile | null
  /** The version that each is from, and its bytes. */
  deltas: { from: string; size: number }[]
  /** Installations. */
  fetched: number
  applied: number
  failed: number
}

/** What is being published now. */
export interface Publish {
  /** `update`, `installer`, `delta` or `image`. */
  kind: string
  version: string
  /** Of an image. */
  compatible: string | null
  bytes: number
  /** Null: its length was not told. */
  size: number | null
  started_at: number
}

export interface ReleaseBody {
  withdrawn?: boolean
  hold?: boolean
  /** 0 to 100; what is no number is refused by the server. */
  percent?: number | string
  channel?: Channel
  halted?: false
}

export interface Artifact {
  type: ArtifactType
  filename: string
  name: string
  description: string
  version: string
  tags: readonly string[]
  user: string
  size: number
  modified_at: number
}

export interface Settings {
  update_key: { from: 'settings' | 'panel' | 'none'; made_at: number | null }
  upload_bytes: number
  artifact_bytes: number
  session_ms: number
  public_url: string
  halt_percent: number
  window: string
}

interface Session {
  /** What writes carry. */
  csrf: string
}

export const api = {
  status: () => call<Status>('GET /api/status'),
  health: () => call<Health>('GET /api/health', undefined, { isPolled: true }),
  /** @throws CallFault 401 if nobody is signed in */
  session: () => call<Session>('GET /admin/api/session', undefined, { isSignIn: true }),
  signIn: (password: string) =>
    call<Session>('POST /admin/api/login', { password }, { isSignIn: true, answerMs: SIGN_IN_MS }),
  signOut: () => call('POST /admin/api/logout', undefined, { isSignIn: true }),
  changePassword: (body: { current: string; next: string }) =>
    call<Session>('POST /admin/api/password', body, { answerMs: SIGN_IN_MS }),
  settings: () => call<Settings>('GET /admin/api/settings'),
  makeUpdateKey: () => call<{ update_key: string }>('POST /admin/api/update-key'),
}

export const installationsApi = {
  list: (query: InstallationQuery) => call<InstallationList>(`GET /admin/api/installations?${queryOf(query)}`),
  change: (id: string, body: InstallationBody) => call<Installation>(`PATCH /admin/api/installations/${id}`, body),
  /** All of them, or none. */
  enable: (ids: readonly string[], enabled: boolean) => call('PATCH /admin/api/installations', { ids, enabled }),
}

export const releasesApi = {
  list: async () => (await call<{ updates: Release[] }>('GET /admin/api/updates')).updates,
  publishes: async () => (await call<{ uploads: Publish[] }>('GET /admin/api/uploads')).uploads,
  change: (id: string, body: ReleaseBody) => call<Release>(`PATCH /admin/api/updates/${encodeURIComponent(id)}`, body),
  remove: (id: string) => call(`DELETE /admin/api/updates/${encodeURIComponent(id)}`),
}

export const artifactsApi = {
  list: async () => (await call<{ artifacts: Artifact[] }>('GET /admin/api/artifacts')).artifacts,
  remove: ({ filename, type }: Pick<Artifact, 'filename' | 'type'>) =>
    call(`DELETE /admin/api/artifacts/${type}/${encodeURIComponent(filename)}`),
}

function queryOf(query: InstallationQuery): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== '')
  return new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString()
}
