/** The first set-up: disk, cameras, that recording works, and what looks at the pictures. It can be left and come back to. */
import type { VNode } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { sentenceOf, useLook } from '#kit/web/call.ts'
import { daemonNow, zone } from '#kit/web/contact.ts'
import { steps } from '#kit/web/figures.ts'
import { type Child, html } from '#kit/web/html.ts'
import { firstAnswer } from '#kit/web/lazy.ts'
import { bytesText } from '#kit/web/numbers.ts'
import { Act, lamp, say, toast, verdict } from '#kit/web/parts.ts'
import { goTo, linkTo } from '#kit/web/route.ts'
import type { SetupStep } from '../core/site.ts'
import { api, type Camera, type Footage, type Health } from './api.ts'
import { litOf, remedyText, sortCameras, stateText, type When, whyText } from './camera-words.ts'
import { DetectorChoice } from './detector-choice.ts'
import { diskTable, judgeDisks } from './disks.ts'
import { type DetectorView, eventsApi } from './events-api.ts'
import { cameras, look, setUp } from './state.ts'
import * as texts from './texts.ts'

const LOOK_MS = 1000
/** Newer footage shows that recording works now. */
const WINDOW_MS = 120_000

/** The steps that people see, by their words in the address. */
const SHOWN = ['disk', 'cameras', 'recording', 'seeing'] as const
type Shown = (typeof SHOWN)[number]
const NAMES = [texts.stepDisk, texts.stepCameras, texts.stepRecording, texts.stepSeeing]

/** Where to go on; what looks at the pictures comes last, whatever the interface calls its steps. */
function nextStep(step: SetupStep): Shown {
  if (step === 'hailo' || step === 'storage') return 'disk'
  return cameras.value?.length ? 'recording' : 'cameras'
}

/** Moves the set-up, and opens another step. */
async function moveTo(step: SetupStep, ...to: string[]): Promise<void> {
  try {
    await api.moveSetUp(step)
    await look()
    goTo(...to)
  } catch (thrown) {
    toast(sentenceOf(thrown))
  }
}

/** The page. @param step one that was opened by its address */
export function SetUpPage({ step }: { step?: string }): VNode {
  const [health, setHealth] = useState<Health | null>(null)
  const [footage, setFootage] = useState<Record<string, Footage>>({})
  const { refused } = useLook(async () => {
    const now = daemonNow()
    setFootage((await api.allFootage(now - WINDOW_MS, now)).cameras)
    setHealth(await api.health())
  }, LOOK_MS)
  useEffect(() => {
    if (setUp.value === 'hailo') void api.moveSetUp('storage').catch(() => {})
  }, [])
  const shown = SHOWN.find((one) => one === step) ?? nextStep(setUp.value ?? 'ai')
  if (health === null)
    return html`<h1 class="sr">Set-up</h1><section class="panel">${firstAnswer(refused, texts.askingHealth, texts.healthNotRead)}</section>`
  const when = { nowMs: daemonNow(), zone: zone.value }
  const draw = {
    disk: () => diskStep(health, when),
    cameras: camerasStep,
    recording: () => recordingStep(footage, when),
    seeing: () => html`<${SeeingStep} />`,
  }
  return html`<h1 class="sr">Set-up</h1><section class="panel" aria-label="Set-up"><div class="in stack">${steps(NAMES, SHOWN.indexOf(shown))}</div>${draw[shown]()}</section>`
}

/** @param back the step before */
function buttons(back: Shown | undefined, ...acts: Child[]): VNode {
  return html`<footer class="save">${back ? html`<a class="btn quiet apart" href=${linkTo('set-up', back)}>Back</a>` : null}${acts}</footer>`
}

function diskStep(health: Health, when: When): Child {
  const [disk] = health.disks
  const judged = judgeDisks(health) ?? {
    ...{ lit: 'ok' as const, sentence: texts.footageGoesTo(disk?.folder ?? '', bytesText(disk?.freeBytes)) },
    why: texts.diskNext,
  }
  return html`<div class="in stack">${verdict(judged)}</div>${diskTable(health.disks, when)}
    ${buttons(undefined, html`<a class="btn" href=${linkTo('storage')}>Other folders, or other days</a>`, html`<${Act} kind="primary" run=${() => void moveTo('ai', 'set-up', 'cameras')}>Go on to cameras</${Act}>`)}`
}

function camerasStep(): Child {
  const known = cameras.value ?? []
  const isAny = known.length > 0
  const list = isAny
    ? say('ok', texts.camerasAreThere(known.map(({ name }) => name)), texts.moreCameras)
    : say('off', texts.noCameras, texts.howToAdd)
  return html`${list}${buttons(
    'disk',
    html`<a class="btn" href=${linkTo('cameras', 'new')}>${texts.addByAddress}</a>`,
    html`<a class=${isAny ? 'btn' : 'btn primary'} href=${linkTo('cameras', 'find')}>${texts.findCameras}</a>`,
    isAny ? html`<a class="btn primary" href=${linkTo('set-up', 'recording')}>Go on to recording</a>` : null,
  )}`
}

/** Whether pictures of the last minutes are on the disk. */
const isKept = ({ id, mode }: Camera, footage: Record<string, Footage>) =>
  mode !== 'record' || (footage[id]?.ranges.length ?? 0) > 0

function recordingStep(footage: Record<string, Footage>, when: When): Child {
  const known = sortCameras(cameras.value ?? []).filter(({ enabled }) => enabled)
  const kept = known.filter((camera) => isKept(camera, footage))
  const isAll = known.length > 0 && kept.length === known.length
  const judged = {
    ...{
      lit: isAll ? ('ok' as const) : ('busy' as const),
      why: isAll ? texts.recordingWorksMeans : texts.recordingWaits,
    },
    sentence: isAll ? texts.recordingWorks(known.length) : texts.someAreKept(kept.length, known.length),
  }
  const next = html`<a class=${isAll ? 'btn primary' : 'btn'} href=${linkTo('set-up', 'seeing')}>${texts.goOnToEvents}</a>`
  return html`<div class="in stack">${verdict(judged)}<ul class="checks">${known.map((camera) => cameraLine(camera, isKept(camera, footage), when))}</ul></div>
    ${buttons('cameras', next)}`
}

/** Which detector looks: none is no fault, and can be chosen later. */
function SeeingStep(): VNode {
  const [detector, setDetector] = useState<DetectorView | null>(null)
  const { again, refused } = useLook(async () => setDetector(await eventsApi.detector()), LOOK_MS)
  const choice =
    detector === null
      ? firstAnswer(refused, texts.askingDetector, texts.detectorNotRead)
      : html`<${DetectorChoice} view=${detector} again=${again} /><p class="in small soft">${texts.seeingMeans}</p>`
  return html`${choice}${buttons('recording', html`<${Act} kind="primary" run=${() => void moveTo('complete', 'wall')}>${texts.endSetUp}</${Act}>`)}`
}

function cameraLine(camera: Camera, hasFootage: boolean, when: When): VNode {
  const why = [whyText(camera, when), remedyText(camera)].filter(Boolean).join(' ')
  const kept = camera.mode === 'record' ? texts.isOnDisk : texts.isNotKept
  const said = hasFootage ? kept : why === '' ? texts.firstGroup : why
  return html`<li key=${camera.id}>${lamp(hasFootage ? 'ok' : litOf(camera) === 'ok' ? 'busy' : litOf(camera))} <a href=${linkTo('camera', camera.id)}>${camera.name}</a>: ${stateText(camera, when)}. ${said}</li>`
}
