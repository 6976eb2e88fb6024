/** Turns a camera from its page: a pad that is held, as thumbs do, and the presets. */
import type { VNode } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { sentenceOf, useLook } from '#kit/web/call.ts'
import { input, refusal, useForm } from '#kit/web/form.ts'
import { type Child, html } from '#kit/web/html.ts'
import { Act, lamp, toast } from '#kit/web/parts.ts'
import { linkTo } from '#kit/web/route.ts'
import { adoptStyle } from '#kit/web/style.ts'
import { type Camera, type Preset, ptzApi, type Speed, type Turning } from './api.ts'
import { isAdmin } from './state.ts'
import * as texts from './texts.ts'

const LOOK_MS = 5000
/** A move that is held is said again so often; the recorder ends it where that stays away. */
const AGAIN_MS = 300

adoptStyle(
  '.ptz{display:grid;gap:var(--s3);padding:var(--s3)}.ptz .pad{display:grid;grid-template-columns:repeat(4,minmax(3.5rem,1fr));gap:var(--s2);max-width:26rem}' +
    '.ptz .pad .btn{min-height:3.5rem;touch-action:none;user-select:none;-webkit-user-select:none;-webkit-touch-callout:none}' +
    '.ptz .presets{display:flex;flex-wrap:wrap;gap:var(--s2)}.new-preset{display:flex;flex-wrap:wrap;gap:var(--s2);align-items:start}.new-preset .field{flex:1 1 10rem}.new-preset .btn{margin-top:1.45rem}',
)

/** How fast it turns, so that a tap is a small step. */
const SPEED = 0.5

const KEYS: readonly (readonly [label: string, sign: string, speed: Speed] | null)[] = [
  null,
  [texts.turnUp, '↑', { pan: 0, tilt: SPEED, zoom: 0 }],
  null,
  [texts.zoomIn, '+', { pan: 0, tilt: 0, zoom: SPEED }],
  [texts.turnLeft, '←', { pan: -SPEED, tilt: 0, zoom: 0 }],
  [texts.turnDown, '↓', { pan: 0, tilt: -SPEED, zoom: 0 }],
  [texts.turnRight, '→', { pan: SPEED, tilt: 0, zoom: 0 }],
  [texts.zoomOut, '−', { pan: 0, tilt: 0, zoom: -SPEED }],
]

/** Nothing of a camera that does not turn. */
export function PtzPad({ camera: { id, name } }: { camera: Camera }): VNode | null {
  const [turning, setTurning] = useState<Turning | null>(null)
  const [presets, setPresets] = useState<Preset[]>([])
  const [refused, setRefused] = useState<string | null>(null)
  useLook(async () => {
    const now = await ptzApi.read(id)
    setTurning(now)
    if (now.supported && now.mostPresets > 0) setPresets(await ptzApi.presets(id))
  }, LOOK_MS)
  if (!turning?.supported) return null

  async function recall({ name: preset, token }: Preset): Promise<void> {
    try {
      setRefused(null)
      await ptzApi.recall(id, token)
      toast(texts.turnedTo(name, preset))
    } catch (thrown) {
      setRefused(sentenceOf(thrown))
    }
  }
  return html`<section class="panel" aria-label=${texts.turn}><header><h2 class="grow">${texts.turn}</h2><div class="acts"><a class="btn" href=${linkTo('camera', id, 'turning')}>${texts.patrolAndTracking}</a></div></header><div class="ptz">
    ${turning.continuous ? html`<${Pad} id=${id} hasZoom=${turning.zoom} onRefused=${setRefused} />` : null}
    ${refused === null ? null : html`<p class="refusal" role="alert" data-s="fault">${lamp('fault')}<span>${refused}</span></p>`}
    ${presetsOf(presets, (preset) => void recall(preset))}
    ${isAdmin.value && turning.mostPresets > 0 ? html`<${NewPreset} id=${id} />` : null}
  </div></section>`
}

function presetsOf(presets: readonly Preset[], recall: (preset: Preset) => void): Child {
  if (presets.length === 0) return html`<p class="small soft">${texts.noPresets}</p>`
  return html`<div class="presets" role="group" aria-label=${texts.presets}>${presets.map(
    (preset) => html`<${Act} key=${preset.token} run=${() => recall(preset)}>${preset.name}</${Act}>`,
  )}</div>`
}

/** Saves where the camera looks now. */
function NewPreset({ id }: { id: string }): VNode {
  const form = useForm({ name: '' })
  function submit(event: Event): void {
    event.preventDefault()
    void form.submit(async () => {
      const { name } = await ptzApi.savePreset(id, String(form.values.value.name).trim())
      form.settle({ name: '' })
      toast(texts.presetIsSaved(name))
    })
  }
  return html`<form class="new-preset" onSubmit=${submit} novalidate>${input({ form, name: 'name', label: texts.newPreset, hint: texts.newPresetHint })}
    <${Act} type="submit" waits=${form.isBusy.value}>${texts.savePreset}</${Act}>${refusal(form)}</form>`
}

interface PadFacts {
  id: string
  hasZoom: boolean
  onRefused: (why: string | null) => void
}

function Pad({ hasZoom, id, onRefused }: PadFacts): VNode {
  const held = useRef<ReturnType<typeof setInterval> | null>(null)

  function release(): void {
    if (held.current === null) return
    clearInterval(held.current)
    held.current = null
    ptzApi.stop(id).catch((thrown: unknown) => onRefused(sentenceOf(thrown)))
  }

  function hold(speed: Speed): void {
    if (held.current !== null) return
    onRefused(null)
    const say = () =>
      void ptzApi.move(id, speed).catch((thrown: unknown) => {
        release()
        onRefused(sentenceOf(thrown))
      })
    held.current = setInterval(say, AGAIN_MS)
    say()
  }

  useEffect(() => {
    // A page that nobody sees any more holds nothing.
    const onHidden = () => document.hidden && release()
    document.addEventListener('visibilitychange', onHidden)
    window.addEventListener('blur', release)
    return () => {
      document.removeEventListener('visibilitychange', onHidden)
      window.removeEventListener('blur', release)
      release()
    }
  }, [id])

  return html`<div class="pad" role="group" aria-label=${texts.holdToTurn}>${KEYS.map((key, at) => {
    if (key === null || (!hasZoom && key[2].zoom !== 0)) return html`<span key=${at}></span>`
    const [label, sign, speed] = key
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.key !== ' ' && event.key !== 'Enter') return
      event.preventDefault()
      if (!event.repeat) hold(speed)
    }
    return html`<button key=${at} type="button" class="btn" aria-label=${label}
      onPointerDown=${(event: PointerEvent) => {
        if (event.button !== 0) return
        ;(event.currentTarget as Element).setPointerCapture(event.pointerId)
        hold(speed)
      }}
      onPointerUp=${release} onPointerCancel=${release} onLostPointerCapture=${release} onBlur=${release}
      onKeyDown=${onKeyDown} onKeyUp=${release} onContextMenu=${(event: Event) => event.preventDefault()}>${sign}</button>`
  })}</div>`
}
