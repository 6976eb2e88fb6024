/** Cameras that answer on the network, and adding some of them with one login. */
import type { VNode } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { sentenceOf } from '#kit/web/call.ts'
import { type Form, input, refusal, toggle, useForm } from '#kit/web/form.ts'
import { html } from '#kit/web/html.ts'
import { Act, icon, lamp, say, toast } from '#kit/web/parts.ts'
import { goTo, linkTo } from '#kit/web/route.ts'
import { discoveryApi, type FoundCamera } from './api.ts'
import { look } from './state.ts'
import * as texts from './texts.ts'

/** A list of this age is looked for anew. */
const OLD_MS = 600_000

/** Looks when it is opened. Those that are ticked are added with one login; why one was not is said below its name. */
export function FindCameras(): VNode {
  const [found, setFound] = useState<readonly FoundCamera[] | null>(null)
  const [isScanning, setScanning] = useState(false)
  const [ticked, setTicked] = useState<ReadonlySet<string>>(new Set())
  const [whyNot, setWhyNot] = useState<Readonly<Record<string, string>>>({})
  const [refused, setRefused] = useState('')
  const form = useForm({ username: '', password: '', isShown: false }, 'draft')

  function show(list: readonly FoundCamera[]): void {
    setFound(list)
    const fresh = list.filter(({ camera }) => camera === null)
    // Whoever answers is told a login once it is ticked: a person says which ones, unless there is but one.
    setTicked((before) => new Set(fresh.filter(({ id }) => fresh.length === 1 || before.has(id)).map(({ id }) => id)))
  }

  async function scan(): Promise<void> {
    setScanning(true)
    setRefused('')
    try {
      show((await discoveryApi.scan()).found)
    } catch (thrown) {
      setRefused(sentenceOf(thrown))
    } finally {
      setScanning(false)
    }
  }

  useEffect(() => {
    discoveryApi.list().then(
      (state) => {
        const isOld = state.scannedAt === null || Date.now() - state.scannedAt > OLD_MS || state.found.length === 0
        if (!isOld) return show(state.found)
        void scan()
      },
      (thrown: unknown) => setRefused(sentenceOf(thrown)),
    )
  }, [])

  async function save(): Promise<void> {
    const { password, username } = form.values.value
    setWhyNot({})
    const body = { username: String(username).trim(), password: String(password), ids: [...ticked] }
    const { adopted, failed } = await discoveryApi.adoptAll(body)
    await look()
    if (adopted.length > 0) toast(texts.camerasAreAdded(adopted.map(({ name }) => name)))
    if (failed.length === 0) {
      form.settle()
      goTo('cameras')
      return
    }
    setWhyNot(Object.fromEntries(failed.map(({ error, id }) => [id, error])))
    show((await discoveryApi.list()).found)
    setTimeout(() => document.querySelector<HTMLElement>('.found input[aria-invalid]')?.focus(), 0)
  }

  function submit(event: Event): void {
    event.preventDefault()
    if (ticked.size === 0) form.refusal.value = texts.tickOne
    else void form.submit(save)
  }

  const flip = (id: string) =>
    setTicked(new Set(ticked.has(id) ? [...ticked].filter((one) => one !== id) : [...ticked, id]))
  const fresh = found?.filter(({ camera }) => camera === null) ?? []
  const tickAll = () => setTicked(new Set(ticked.size === fresh.length ? [] : fresh.map(({ id }) => id)))
  return html`<form class="panel" onSubmit=${submit} novalidate aria-label="Find cameras">
    <header><h2>Find cameras</h2><div class="acts">
      <${Act} kind="quiet" waits=${isScanning || form.isBusy.value} run=${() => void scan()}>${texts.scanAgain}</${Act}>
      <a class="btn quiet icon" href=${linkTo('cameras')} aria-label="Close form">${icon('close')}</a></div></header>
    <div role="status">${stateOf({ found, isScanning, refused })}</div>
    ${found?.length ? html`<div class="in stack">${list({ found, ticked, whyNot, flip })}${fresh.length > 1 ? html`<${Act} kind="quiet" run=${tickAll}>${ticked.size === fresh.length ? texts.tickNone : texts.tickAll}</${Act}>` : null}${fresh.length > 0 ? loginFields(form) : null}</div>` : null}
    ${fresh.length > 0 ? html`<footer class="save"><${Act} kind="primary" type="submit" waits=${form.isBusy.value || isScanning}>${form.isBusy.value ? texts.signingIn : texts.addSome(ticked.size)}</${Act}></footer>` : null}
  </form>`
}

interface Seen {
  found: readonly FoundCamera[] | null
  isScanning: boolean
  refused: string
}

function stateOf({ found, isScanning, refused }: Seen): VNode | null {
  if (refused !== '') return say('fault', texts.notScanned, refused)
  if (isScanning || found === null) return say('busy', texts.scanning, texts.scanTakes)
  if (found.length > 0) return null
  return say(
    'off',
    texts.noneFound,
    html`${texts.checkThese}<ul class="checks">${texts.checks.map((one) => html`<li key=${one}>${one}</li>`)}</ul>`,
    html`<a class="btn" href=${linkTo('cameras', 'new')}>${texts.addByAddress}</a>`,
  )
}

interface List {
  found: readonly FoundCamera[]
  ticked: ReadonlySet<string>
  whyNot: Readonly<Record<string, string>>
  flip: (id: string) => void
}

/** Those that are not added yet first. */
function list({ found, ticked, whyNot, flip }: List): VNode {
  const sorted = found.toSorted(
    (a, b) => Number(a.camera !== null) - Number(b.camera !== null) || a.name.localeCompare(b.name),
  )
  return html`<fieldset class="ticks found"><legend>${texts.foundSo(found.length)}</legend>${sorted.map((one) => {
    const { camera, id } = one
    if (camera)
      return html`<div class="known" key=${id}>${lamp('ok')}<span>${nameOf(one)}<span class="under">${texts.addedAs} <a href=${linkTo('camera', camera.id)}>${camera.name}</a></span></span></div>`
    const why = whyNot[id]
    return html`<div class="field" key=${id} data-s=${why ? 'fault' : undefined}><label>
        <input type="checkbox" checked=${ticked.has(id)} aria-invalid=${why ? 'true' : undefined} aria-describedby=${why ? `why-${id}` : undefined} onChange=${() => flip(id)} />
        <span>${nameOf(one)}</span></label>
      ${why ? html`<p class="err" id=${`why-${id}`}>${lamp('fault')}<span>${why}</span></p>` : null}</div>`
  })}</fieldset>`
}

function nameOf({ address, manufacturer, model, name }: FoundCamera): VNode {
  const make = [manufacturer, model].filter((word) => word !== null && !name.includes(word)).join(' ')
  return html`<b>${name}</b><span class="under">${make === '' ? '' : `${make}, `}<span class="mono">${address}</span></span>`
}

function loginFields(form: Form): VNode {
  return html`${input({ form, name: 'username', label: texts.cameraUser, hint: texts.onvifUserHint })}
    ${input({ form, name: 'password', label: texts.cameraPassword, type: form.values.value.isShown ? 'text' : 'password', autocomplete: 'off' })}
    ${toggle({ form, name: 'isShown', label: texts.showPassword })}${refusal(form)}`
}
