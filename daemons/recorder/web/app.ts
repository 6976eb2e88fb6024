/** The recorder's pages: sign-in, and its cameras with how each one is. */
import { signal } from '@preact/signals'
import type { VNode } from 'preact'
import { call } from '#kit/web/call.ts'
import { html } from '#kit/web/html.ts'
import { firstWait, lazy } from '#kit/web/lazy.ts'
import { chip, type Lit, say } from '#kit/web/parts.ts'
import { isSignedOut, token } from '#kit/web/session.ts'
import { plate, Shell } from '#kit/web/shell.ts'
import type { CameraHealth, CameraState } from '../core/cameras/camera.ts'
import * as texts from './texts.ts'

const SignIn = lazy(async () => (await import('#kit/web/sign-in.ts')).SignIn)
const SignedOut = lazy(async () => (await import('#kit/web/sign-in.ts')).SignedOut)

/** How often the page asks. */
export const LOOK_MS = 2000

interface Status {
  version: string
  adminConfigured: boolean
}

interface Camera {
  id: string
  name: string
  health: CameraHealth
}

const status = signal<Status | null>(null)
const cameras = signal<readonly Camera[] | null>(null)

/** Asks what is shown. @throws what the calls throw */
export async function look(): Promise<void> {
  status.value = await call<Status>('GET /api/status')
  if (token.value !== null) cameras.value = await call<Camera[]>('GET /api/cameras')
}

const plateFacts = () => ({ role: texts.role, box: 'recorder', name: texts.role, address: location.host })

/** The whole app. */
export function App(): VNode {
  const known = status.value
  if (token.value !== null) return html`<${Signed} />`
  if (known?.adminConfigured)
    return html`<${SignIn} plate=${plate(plateFacts())} footer=${texts.version(known.version)} />`
  const body = known ? say('warn', texts.nobodyYet, texts.howToSetUp) : firstWait('recorder', texts.askingRecorder)
  return html`<main class="alone" id="main"><h1 class="sr">Plantroom recorder</h1>
    <div class="panel alone-in">${body}</div></main>`
}

function Signed(): VNode {
  const entries = [
    { href: '#/cameras', label: texts.cameras, isHere: true, count: String(cameras.value?.length ?? '') },
  ]
  const footer = status.value ? texts.version(status.value.version) : ''
  return html`<${Shell} plate=${plateFacts()} entries=${entries} footer=${footer}>
      <h1>${texts.cameras}</h1><section class="panel"><div class="in">${cameraTable(cameras.value)}</div></section></${Shell}>
    ${isSignedOut.value ? html`<${SignedOut} />` : null}`
}

const LIT: Readonly<Record<CameraState, Lit>> = {
  off: 'off',
  connecting: 'busy',
  starting: 'busy',
  recording: 'ok',
  lost: 'fault',
  refused: 'fault',
  unsupported: 'fault',
}

function cameraTable(list: readonly Camera[] | null): VNode | VNode[] {
  if (!list) return firstWait('recorder', texts.askingRecorder)
  if (list.length === 0) return say('off', texts.noCameras, texts.howToAdd)
  return html`<table><thead><tr><th scope="col">Camera</th><th scope="col">State</th><th scope="col">Why</th></tr></thead>
    <tbody>${list.map(
      ({ health: { fault, state }, id, name }) =>
        html`<tr key=${id}><td>${name}</td><td>${chip(LIT[state], texts.stateWords[state])}</td><td>${fault?.message}</td></tr>`,
    )}</tbody></table>`
}
