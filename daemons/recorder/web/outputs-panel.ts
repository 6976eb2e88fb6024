/** What a camera switches and claims, on its page. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { doneOrSaid } from '#kit/web/asked.ts'
import { useLook } from '#kit/web/call.ts'
import { zone } from '#kit/web/contact.ts'
import { type Child, html } from '#kit/web/html.ts'
import { timeOf } from '#kit/web/numbers.ts'
import { Act, chip, lamp, say } from '#kit/web/parts.ts'
import { adoptStyle } from '#kit/web/style.ts'
import type { Camera } from './api.ts'
import { type Output, rulesApi } from './rules-api.ts'
import { isAdmin, look, mayOperate, me } from './state.ts'
import * as texts from './texts.ts'

adoptStyle(`
.outputs li{display:flex;flex-wrap:wrap;align-items:center;gap:var(--s2)}
.outputs li+li{border-top:1px solid var(--line);padding-top:var(--s2);margin-top:var(--s2)}
.outputs li b{flex:1 1 8rem}
`)

const LOOK_MS = 3000

/** Of a camera that is spoken to over ONVIF. */
export function OutputsPanel({ camera }: { camera: Camera }): VNode | null {
  const [outputs, setOutputs] = useState<readonly Output[]>([])
  const { id, name } = camera
  const { again } = useLook(async () => {
    if (camera.onvif) setOutputs((await rulesApi.outputs(id)).outputs)
  }, LOOK_MS)
  const isLooked = camera.outputsProbedAt !== null
  if (!camera.onvif || (!isAdmin.value && outputs.length === 0)) return null
  const find = () =>
    void doneOrSaid(
      () => rulesApi.findOutputs(id),
      () => look().then(again),
      texts.outputsLookedFor(name),
    )
  const finder = isAdmin.value
    ? html`<div class="acts"><${Act} run=${find}>${isLooked ? texts.lookAgain : texts.lookForOutputs}</${Act}></div>`
    : null
  return html`<section class="panel" aria-label=${texts.outputs}><header><h2 class="grow">${texts.outputs}</h2>${finder}</header>
    ${outputs.length === 0 ? say('off', isLooked ? texts.noOutputs : texts.nobodyLooked, camera.outputsNotes ?? texts.whatOutputsAre) : html`<ul class="in outputs">${outputs.map((output) => row(camera, output, again))}</ul>`}
    ${isAdmin.value ? ownEvents(camera) : null}</section>`
}

function row({ id: camera }: Camera, { id, name, on, until }: Output, again: () => Promise<void>): VNode {
  const mayNot = !mayOperate.value || me.value?.permissions.includes('outputs') !== true
  const act = (state: 'pulse' | 'on' | 'off', label: string) =>
    html`<${Act} waits=${mayNot} label=${`${label}: ${name}`} run=${() => void doneOrSaid(() => rulesApi.switchOutput(camera, id, state), again, texts.outputIs(name, texts.outputStates[state]))}>${label}</${Act}>`
  const state = on
    ? until === null
      ? texts.outputIsOn
      : texts.isOnUntil(timeOf(until, zone.value))
    : texts.outputIsOff
  return html`<li key=${id}><b>${name}</b>${chip(on ? 'busy' : 'off', state)}${act('pulse', texts.tenSeconds)}${on ? act('off', texts.off) : act('on', texts.on)}</li>`
}

/** Whether its own events are listened to, and how that goes. */
function ownEvents({ cameraEvents, cameraEventsStatus: status, id, name }: Camera): Child {
  const set = () =>
    void doneOrSaid(
      () => rulesApi.listen(id, !cameraEvents),
      look,
      cameraEvents ? texts.notListenedTo(name) : texts.listenedTo(name),
    )
  const lit = status === null ? 'off' : status.state === 'ok' ? 'ok' : status.state === 'failing' ? 'fault' : 'busy'
  const words = status === null ? texts.eventsAreOff : (status.reason ?? texts.eventStates[status.state])
  return html`<footer class="live-foot small"><span>${lamp(lit)} ${texts.ownEvents}: ${words}</span><${Act} run=${set}>${cameraEvents ? texts.dontListen : texts.listen}</${Act}></footer>`
}
