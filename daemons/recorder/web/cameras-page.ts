/** The cameras: which of them is not recorded and why; adding one by its address, changing and removing one. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { sentenceOf } from '#kit/web/call.ts'
import { daemonNow, zone } from '#kit/web/contact.ts'
import { Confirm } from '#kit/web/dialog.ts'
import { type Form, input, refusal, toggle, useForm } from '#kit/web/form.ts'
import { type Child, html } from '#kit/web/html.ts'
import { useKeys } from '#kit/web/keys.ts'
import { firstWait, lazy } from '#kit/web/lazy.ts'
import { Act, icon, lamp, say, toast, verdict } from '#kit/web/parts.ts'
import { goTo, linkTo } from '#kit/web/route.ts'
import { followRow, matches, Tools, walkRows } from '#kit/web/tools.ts'
import { api, type Camera, type CameraBody, stillPath } from './api.ts'
import {
  judgeCameras,
  litOf,
  pictureText,
  remedyText,
  sortCameras,
  stateText,
  type When,
  whyText,
} from './camera-words.ts'
import { cameras, isAdmin, look } from './state.ts'
import * as texts from './texts.ts'

const FindCameras = lazy(async () => (await import('./find-cameras.ts')).FindCameras)

const ROWS = '.rows .name a'

/** The page. @param what `find`, `new`, `edit` or nothing; @param which the camera that is changed */
export function CamerasPage({ what, which }: { what?: string; which?: string }): VNode {
  const [filter, setFilter] = useState('')
  useKeys(texts.cameras, [
    { key: 'ArrowDown', what: texts.nextCamera, run: () => walkRows(ROWS, 1) },
    { key: 'ArrowUp', what: texts.previousCamera, run: () => walkRows(ROWS, -1) },
    { key: 'f', what: texts.findsCameras, run: () => isAdmin.value && (goTo('cameras', 'find') as undefined) },
    { key: 'n', what: texts.addsCamera, run: () => isAdmin.value && (goTo('cameras', 'new') as undefined) },
  ])
  const known = cameras.value
  if (known === null)
    return html`<h1 class="sr">Cameras</h1><section class="panel">${firstWait('recorder', texts.askingRecorder)}</section>`
  const when = { nowMs: daemonNow(), zone: zone.value }
  const form = isAdmin.value ? formOf(known, what, which) : null
  return html`<h1 class="sr">Cameras</h1>${known.length > 0 ? verdict(judgeCameras(known, when)) : null}
    <div class=${form ? 'cols with-form' : ''}><section class="panel" aria-label="Cameras">
      ${known.length === 0 ? nothingYet(form !== null) : html`${tools(filter, setFilter, form !== null)}${table(known, filter, when)}`}
      </section>${form}</div>`
}

function formOf(known: readonly Camera[], what?: string, which?: string): VNode | null {
  if (what === 'new') return html`<${NewCamera} key="new" />`
  if (what === 'find') return html`<${FindCameras} key="find" />`
  const camera = what === 'edit' ? known.find(({ id }) => id === which) : undefined
  return camera ? html`<${CameraForm} camera=${camera} key=${camera.id} />` : null
}

/** What to do first. */
function nothingYet(hasForm: boolean): VNode {
  const act = html`<div class="acts start"><a class=${hasForm ? 'btn' : 'btn primary'} href=${linkTo('cameras', 'find')}>${texts.findCameras}</a>
    ${hasForm ? null : html`<a class="btn" href=${linkTo('cameras', 'new')}>Add camera</a>`}</div>`
  return say(
    'off',
    texts.noCameras,
    isAdmin.value ? texts.howToAdd : texts.askAnAdministrator,
    isAdmin.value ? act : null,
  )
}

function tools(filter: string, setFilter: (text: string) => void, hasForm: boolean): VNode {
  const add = html`<a class="btn" href=${linkTo('cameras', 'find')}>${texts.findCameras}</a>
    <a class=${hasForm ? 'btn' : 'btn primary'} href=${linkTo('cameras', 'new')}>Add camera</a>`
  return html`<${Tools} filter=${filter} setFilter=${setFilter} label="Filter cameras">${isAdmin.value ? add : null}</${Tools}>`
}

function table(known: readonly Camera[], filter: string, when: When): Child {
  const shown = sortCameras(known).filter((camera) => matches(`${camera.name} ${stateText(camera, when)}`, filter))
  if (shown.length === 0) return say('off', texts.noCameraMatches(filter), texts.escShowsAll)
  return html`<table class="table fold rows cams"><thead><tr><th><span class="sr">Lamp</span></th><th>Camera</th><th>State</th>
    <th class="wide">Picture</th><th><span class="sr">Footage</span></th></tr></thead><tbody>${shown.map((camera) => row(camera, when))}</tbody></table>`
}

function row(camera: Camera, when: When): VNode {
  const href = linkTo('camera', camera.id)
  const lit = litOf(camera)
  const why = [whyText(camera, when), remedyText(camera)].filter(Boolean).join(' ')
  return html`<tr key=${camera.id} onClick=${(event: Event) => followRow(event, href)}>
    <td class="lit">${lamp(lit)}</td>
    <td class="name"><a href=${href}><b>${camera.name}</b></a></td>
    <td class="setup" data-s=${lit === 'fault' ? lit : undefined}>${stateText(camera, when)}${why ? html`<span class="under why">${why}</span>` : null}</td>
    <td class="wide soft">${pictureText(camera)}</td>
    <td class="load n"><a class="btn" href=${linkTo('playback', camera.id)} aria-label=${texts.playbackOf(camera.name)}>Playback</a></td></tr>`
}

const close = () =>
  html`<div class="acts"><a class="btn quiet icon" href=${linkTo('cameras')} aria-label="Close form">${icon('close')}</a></div>`

/** Adds a camera by its address. */
function NewCamera(): VNode {
  const form = useForm({ name: '', url: '', sub_url: '', username: '', password: '', isShown: false }, 'draft')
  async function save(): Promise<void> {
    const { name, password, sub_url, url, username } = form.values.value
    const body: CameraBody = { name: String(name).trim(), url: String(url).trim() }
    if (String(sub_url).trim() !== '') body.sub_url = String(sub_url).trim()
    if (username !== '') Object.assign(body, { username, password })
    const added = await api.addCamera(body)
    await look()
    toast(texts.cameraIsAdded(added.name))
    // What was typed is saved: nobody is asked whether it may be lost.
    form.settle()
    goTo('camera', added.id)
  }
  function submit(event: Event): void {
    event.preventDefault()
    void form.submit(save)
  }
  return html`<form class="panel" onSubmit=${submit} novalidate aria-label="New camera">
    <header><h2>New camera</h2>${close()}</header>
    <div class="in stack">
      ${input({ form, name: 'name', label: texts.name, first: true, placeholder: texts.nameExample })}
      ${input({ form, name: 'url', label: texts.address, mono: true, placeholder: texts.addressExample, hint: texts.addressHint })}
      ${subAddress(form)}
      ${input({ form, name: 'username', label: texts.cameraUser, hint: texts.cameraUserHint })}
      ${input({ form, name: 'password', label: texts.cameraPassword, type: form.values.value.isShown ? 'text' : 'password', autocomplete: 'off' })}
      ${toggle({ form, name: 'isShown', label: texts.showPassword })}
      ${refusal(form)}</div>
    <footer class="save"><${Act} kind="primary" type="submit" waits=${form.isBusy.value}>Add camera</${Act}></footer></form>`
}

const subAddress = (form: Form) =>
  input({ form, name: 'sub_url', label: texts.subAddress, mono: true, hint: texts.subAddressHint })

/** Changes a camera: its name, address and login; switches it on or off, or removes it. The login is never shown. */
function CameraForm({ camera }: { camera: Camera }): VNode {
  const form = useForm(
    {
      ...{ name: camera.name, enabled: camera.enabled, sub_url: camera.sub_url ?? '' },
      ...{ url: '', username: '', password: '', isShown: false },
      ...{ isKept: camera.mode === 'record', audio: camera.audio, isUdp: camera.transport === 'udp' },
    },
    'edit',
  )
  async function save(): Promise<void> {
    const { audio, enabled, isKept, isUdp, name, password, sub_url, url, username } = form.values.value
    const typed = Object.entries({ url: String(url).trim(), username, password }).filter(([, value]) => value !== '')
    const sub = String(sub_url).trim()
    // Of another address the one for watching is not this one any more, unless it was typed with it.
    const isNewSub = sub !== (camera.sub_url ?? '')
    const body = {
      ...{ name: String(name).trim(), enabled: enabled === true, ...Object.fromEntries(typed) },
      mode: isKept === true ? ('record' as const) : ('intelligence_only' as const),
      ...(isNewSub && { sub_url: sub === '' ? null : sub }),
      ...{ audio: audio === true, transport: isUdp === true ? ('udp' as const) : ('tcp' as const) },
    }
    await api.changeCamera(camera.id, body)
    await look()
    toast(texts.cameraIsChanged(String(name).trim()))
    form.settle()
    goTo('camera', camera.id)
  }
  function submit(event: Event): void {
    event.preventDefault()
    void form.submit(save)
  }
  return html`<form class="panel" onSubmit=${submit} novalidate aria-label=${texts.cameraNamed(camera.name)}>
    <header><h2>${camera.name}</h2>${close()}</header>
    <div class="in stack">
      <${Still} camera=${camera} />
      ${input({ form, name: 'name', label: texts.name, first: true })}
      ${toggle({ form, name: 'enabled', label: texts.isRecorded, hint: texts.isRecordedHint })}
      ${toggle({ form, name: 'isKept', label: texts.keepsFootage, hint: texts.keepsFootageHint })}
      ${toggle({ form, name: 'audio', label: texts.isHeard, hint: texts.isHeardHint })}
      ${toggle({ form, name: 'isUdp', label: texts.isUdp, hint: texts.isUdpHint })}
      ${input({ form, name: 'url', label: texts.newAddress, mono: true, placeholder: texts.addressExample, hint: texts.newAddressHint })}
      ${subAddress(form)}
      ${input({ form, name: 'username', label: texts.cameraUser, hint: texts.leftEmpty })}
      ${input({ form, name: 'password', label: texts.cameraPassword, type: form.values.value.isShown ? 'text' : 'password', autocomplete: 'off', hint: texts.leftEmpty })}
      ${toggle({ form, name: 'isShown', label: texts.showPassword })}
      ${refusal(form)}</div>
    <footer class="save"><${Removal} camera=${camera} />
      <${Act} kind="primary" type="submit" waits=${form.isBusy.value || !form.hasChanges()}>Save</${Act}></footer></form>`
}

/** Which camera it is. Of one that shows nothing now there is no place for it. */
function Still({ camera: { id, masked, name } }: { camera: Camera }): VNode {
  const [isShown, setShown] = useState(true)
  const picture = html`<img class="still" src=${stillPath(id)} alt=${texts.stillOf(name)} onError=${() => setShown(false)} />`
  return html`<div>${isShown ? picture : null}<a href=${linkTo('camera', id, 'masks')}>${masked ? texts.changeMasks : texts.drawMasks}</a></div>`
}

function Removal({ camera: { id, name } }: { camera: Camera }): VNode {
  const [isAsked, setAsked] = useState(false)
  async function run(): Promise<void> {
    try {
      await api.removeCamera(id)
      await look()
      toast(texts.cameraIsRemoved(name))
      goTo('cameras')
    } catch (thrown) {
      toast(sentenceOf(thrown))
    }
  }
  return html`<${Act} kind="danger apart" run=${() => setAsked(true)}>Remove</${Act}>
    ${isAsked ? html`<${Confirm} title=${texts.removeQuestion(name)} text=${texts.removingMeans} act="Remove camera" keep="Keep camera" run=${() => void run()} close=${() => setAsked(false)} />` : null}`
}
